// Commands whose standard output fails: the disk of its file is full, or the reader of its pipe ended.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { launcher } from '../../test/support/node-process.ts';
import { ExitStatus } from './exit-status.ts';
import { endWithOutput } from './standard-output.ts';

const skip = process.platform === 'linux' ? false : 'it needs /dev/full';

/** `output`: the file of standard output; null: a pipe whose reader ends at once. */
async function ended(args: readonly string[], output: number | null) {
  const child = spawn(process.execPath, [launcher, ...args], {
    stdio: ['ignore', output ?? 'pipe', 'pipe'],
    env: { ...process.env, DIVAN_PASSWORD: 'p' },
  });
  child.stdout?.destroy();
  let error = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    error += chunk;
  });
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, error };
}

test('a command whose output is lost on a full disk fails, and says so in one line', { skip }, async (t) => {
  const full = openSync('/dev/full', 'w');
  t.after(() => closeSync(full));
  const service = createServer((_request, response) => {
    response.end(JSON.stringify({ status: 'success', results: [1] }));
  });
  service.listen(0, '127.0.0.1');
  await once(service, 'listening');
  t.after(() => service.close());
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  for (const args of [['--version'], ['query', '--url', url, 'SELECT 1']]) {
    const { status, error } = await ended(args, full);
    assert.match(error, /^divan: cannot write to standard output: ENOSPC[^\n]*\n$/);
    assert.equal(status, 1, args[0]);
  }
});

test('a command ends silently after the reader of its output', async () => {
  assert.deepEqual(await ended(['completion', 'bash'], null), { status: 0, error: '' });
});

test('a command whose work was refused in part keeps its status where the reader of its output has ended', (t) => {
  t.mock.method(process, 'exit', (status?: unknown) => {
    throw new Error(`exit ${status}`);
  });
  const end = () => endWithOutput(Object.assign(new Error('no reader'), { code: 'EPIPE' }));
  const { exitCode } = process;
  t.after(() => {
    process.exitCode = exitCode;
  });
  assert.throws(end, /^Error: exit 0$/);
  process.exitCode = ExitStatus.partial;
  assert.throws(end, /^Error: exit 3$/);
});
