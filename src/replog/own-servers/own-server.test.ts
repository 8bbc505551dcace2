// The NATS server that a node runs; some tests run another program in its place.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type Clock, realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { makeCertificate } from '../../../test/support/certificate.ts';
import { freePorts } from '../../../test/support/free-port.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { natsServerPath } from '../../../test/support/nats-binary.ts';
import { needs } from '../../../test/support/needs.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { probe } from '../nats/server-probe.adapter.ts';
import { OwnServer } from './own-server.adapter.ts';
import type { OwnServerSettings } from './server-settings.ts';

async function aServer(program = natsServerPath, clock: Clock = realClock) {
  const folder = join(mkdtempSync(join(tmpdir(), 'divan-server-')), 'nats');
  const [port, routePort] = (await freePorts(2)) as [number, number];
  const { certificate, key } = await makeCertificate();
  const host = '127.0.0.1';
  const settings: OwnServerSettings = {
    cluster: 'c',
    host,
    port,
    routePort,
    advertised: host,
    routes: [{ host, port: routePort }],
    password: 'secret',
    systemPassword: 'system secret',
    tls: { ca: certificate, cert: certificate, key },
  };
  /** As a new process of the node does for the same folder. */
  const newInstance = (): OwnServer =>
    new OwnServer({
      folder,
      program: async () => program,
      clock,
      random: realRandom,
      log: silentLog,
      storeCheckEveryMs: 50,
    });
  const server = newInstance();
  return {
    server,
    settings,
    folder,
    newInstance,
    pid: (): number => Number(readFileSync(join(folder, 'nats.pid'), 'utf8')),
    name: (): string => readFileSync(join(folder, 'store', 'server-name'), 'utf8'),
    async [Symbol.asyncDispose]() {
      await server.stop();
      rmSync(join(folder, '..'), { recursive: true, force: true });
    },
  };
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // An empty file of the process id, which is still being written, is read as 0: signals to 0 reach this process.
    return pid > 1;
  } catch {
    return false;
  }
}

describe('a program that does not act like a NATS server', () => {
  it('is killed when it is stopped, although it wrote no process id and ignores SIGTERM', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'divan-program-'));
    const [program, pidPath] = [join(folder, 'program'), join(folder, 'pid')];
    writeFileSync(program, `#!/bin/sh\ntrap '' TERM\necho $$ > ${pidPath}\nwhile :; do sleep 0.1; done\n`, {
      mode: 0o700,
    });
    const clock = new ManualClock();
    await using made = await aServer(program, clock);
    const { server, settings } = made;
    const reached = server.startNew(settings);
    let isRefused = false;
    const refused = assert.rejects(reached, /does not answer/).then(() => (isRefused = true));
    const pid = await eventually(() => {
      const written = Number(readFileSync(pidPath, 'utf8'));
      assert.ok(isRunning(written));
      return written;
    });
    let isStopped = false;
    const stopped = server.stop().then(() => (isStopped = true));
    await eventually(() => {
      clock.advance(1_000);
      assert.ok(isStopped && isRefused, 'the program still runs');
    });
    await Promise.all([stopped, refused]);
    // The process may remain for a moment, as one whose exit code nobody has read.
    await eventually(() => assert.equal(isRunning(pid), false));
    rmSync(folder, { recursive: true });
  });
});

describe("a node's own NATS server", { skip: needs('nats-server') }, () => {
  it('is started again when it ends, ends when it is stopped, and keeps its name as long as its store', async () => {
    await using made = await aServer();
    const { server, settings, folder, pid, name } = made;
    assert.equal(server.exists, false);
    await server.startNew(settings);
    assert.equal(server.exists, true);
    assert.equal(made.newInstance().program, natsServerPath);
    for (const file of ['nats.conf', 'server.json', 'key.pem'])
      assert.equal(statSync(join(folder, file)).mode & 0o777, 0o600, file);
    const [first, firstName] = [pid(), name()];
    process.kill(first, 'SIGKILL');
    await eventually(() => assert.ok(pid() !== first && isRunning(pid())));
    await server.stop();
    assert.equal(isRunning(pid()), false);
    await server.startExisting();
    await eventually(() => assert.ok(isRunning(pid())));
    assert.equal(name(), firstName);
    await server.stop();
    rmSync(join(folder, 'store'), { recursive: true });
    await server.startExisting();
    await eventually(() => assert.notEqual(name(), firstName));
    await server.remove();
    assert.equal(server.exists, false);
  });

  it('ends the server that a killed node left running, and only then uses the same store', async () => {
    await using made = await aServer();
    const { server, settings, newInstance, pid } = made;
    await server.startNew(settings);
    const first = pid();
    const next = newInstance();
    try {
      await next.startExisting();
      await eventually(() => assert.ok(pid() !== first && isRunning(pid()) && !isRunning(first)));
    } finally {
      await server.stop();
      await next.stop();
    }
  });
});

/** Reports its state as nats-server does. Once it finds the file "full" in the folder of its store, JetStream stays off until it is started again. */
const programWithFullDisk = `#!${process.execPath}
const { existsSync, readFileSync, writeFileSync } = require('node:fs');
const { createServer } = require('node:net');
const { join } = require('node:path');
const { jetstream, listen, pid_file } = JSON.parse(readFileSync(process.argv[3], 'utf8'));
let isOff = false;
writeFileSync(pid_file, String(process.pid));
createServer((socket) => {
  isOff ||= existsSync(join(jetstream.store_dir, 'full'));
  socket.on('error', () => {});
  socket.end('INFO ' + JSON.stringify({ version: '2.15.2', ...(isOff ? {} : { jetstream: true }) }) + '\\r\\n');
}).listen(Number(listen.split(':')[1]), '127.0.0.1');
`;

it('a server that has stopped storing because its disk was full is restarted until it stores again', async () => {
  const programs = mkdtempSync(join(tmpdir(), 'divan-program-'));
  const program = join(programs, 'nats-server');
  writeFileSync(program, programWithFullDisk, { mode: 0o700 });
  await using made = await aServer(program);
  const { server, settings, folder, pid } = made;
  try {
    await server.startNew(settings);
    const stores = async () => (await probe({ host: settings.host, port: settings.port }))?.stores;
    assert.equal(await stores(), true);
    const first = pid();
    const full = join(folder, 'store', 'full');
    writeFileSync(full, '');
    await eventually(() => assert.notEqual(pid(), first));
    rmSync(full);
    await eventually(async () => assert.equal(await stores(), true));
  } finally {
    rmSync(programs, { recursive: true });
  }
});
