// The REST port opens shortly before the administrator is set: no other client may set up the node meanwhile.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../support/free-port.ts';
import { launcher, portFlags } from '../support/node-process.ts';

const basic = (name: string) => `Basic ${Buffer.from(`${name}:password`).toString('base64')}`;

test('a node started with credentials can be set up only with them', {
  timeout: 600_000,
}, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-first-'));
  const ready = join(dataDir, 'ready.json');
  const port = await freePort();
  const flags = portFlags.map((flag, at) => (portFlags[at - 1] === '--rest-port' ? String(port) : flag));
  const options = ['--username', 'Administrator', '--password', 'password', '--ready-file', ready];
  const child = spawn(process.execPath, [launcher, 'node', '--data-dir', dataDir, ...flags, ...options], {
    stdio: 'ignore',
  });
  const exit = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await exit;
    rmSync(dataDir, { recursive: true, force: true });
  });
  const rest = `http://127.0.0.1:${port}`;
  const body = new URLSearchParams({ username: 'intruder', password: 'password', port: 'SAME' });
  const answers: number[] = [];
  const attack = async (authorization: string | null) => {
    while (!existsSync(ready) && child.exitCode === null) {
      const headers = authorization === null ? {} : { authorization };
      const answer = await fetch(`${rest}/settings/web`, { method: 'POST', body, headers }).catch(() => null);
      if (answer) answers.push(answer.status);
      else await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await Promise.all([...Array.from({ length: 6 }, () => attack(null)), attack(basic('intruder'))]);
  assert.equal(child.exitCode, null, 'the node ended');
  assert.ok(answers.length > 0);
  assert.deepEqual([...new Set(answers)], [401]);
  const whoami = async (name: string) =>
    (await fetch(`${rest}/whoami`, { headers: { authorization: basic(name) } })).status;
  assert.deepEqual([await whoami('Administrator'), await whoami('intruder')], [200, 401]);
});
