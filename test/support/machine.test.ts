// The faults of machines under test take effect.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Machine } from './machine.ts';
import { NamespaceNetwork } from './namespace-network.ts';
import { needs } from './needs.ts';

const port = 7000;
const server = `require('node:net').createServer((socket) => socket.pipe(socket)).listen(${port}, () => console.log('ready'))`;
/** Prints the milliseconds until a megabyte has returned. */
const client = `
  const startedMs = performance.now();
  const socket = require('node:net').connect(${port}, process.argv[1], () => socket.end(Buffer.alloc(1e6)));
  let bytes = 0;
  socket.on('data', (data) => { bytes += data.length; });
  socket.on('end', () => { if (bytes === 1e6) console.log(performance.now() - startedMs); });
`;

test('a delayed machine gets and sends all packets, later', {
  skip: needs('namespaces') || needs('compiler'),
}, async () => {
  using network = NamespaceNetwork.create(2);
  const run = (at: number, code: string, ...args: string[]): [string, string[]] => {
    const [program, ...rest] = [...network.commandOn(at), process.execPath, '-e', code, ...args];
    return [program as string, rest];
  };
  const echo = spawn(...run(1, server), { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await once(echo.stdout, 'data');
    const takenMs = (): number =>
      Number(execFileSync(...run(0, client, network.addressOf(1)), { encoding: 'utf8' }));
    assert.ok(takenMs() > 0);
    await network.delay(1, 100);
    // The connection and what is sent over it are two round trips at least.
    const delayedMs = takenMs();
    assert.ok(delayedMs >= 400, `${delayedMs} ms`);
    network.healAll();
    assert.ok(takenMs() > 0);
  } finally {
    echo.kill('SIGKILL');
  }
});

test('a test can set the clock of a machine, fill its disk, and restore an older data folder', {
  skip: needs('mount') || needs('compiler'),
}, () => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-machine-'));
  try {
    using machine = new Machine(join(folder, 'one'));
    const wallMs = (): number => {
      const env = { ...process.env, ...machine.environment };
      return Number(execFileSync(process.execPath, ['-p', 'Date.now()'], { env, encoding: 'utf8' }));
    };
    const hourMs = 3_600_000;
    for (const aheadMs of [hourMs, -hourMs, 0]) {
      machine.setClock(aheadMs);
      const beforeMs = Date.now();
      const ofMachineMs = wallMs() - aheadMs;
      assert.ok(ofMachineMs >= beforeMs && ofMachineMs <= Date.now());
    }
    const file = join(machine.dataDir, 'file');
    writeFileSync(file, 'old');
    machine.keepFolder();
    machine.fillDisk();
    assert.throws(() => writeFileSync(join(machine.dataDir, 'other'), 'x'), { code: 'ENOSPC' });
    machine.freeDisk();
    appendFileSync(file, ' and new');
    writeFileSync(join(machine.dataDir, 'later'), '');
    machine.putFolderBack();
    assert.equal(readFileSync(file, 'utf8'), 'old');
    assert.equal(existsSync(join(machine.dataDir, 'later')), false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
