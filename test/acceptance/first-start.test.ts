// Ports open shortly before the first start is complete: no other client may set up the node meanwhile, and statements wait for the bucket.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePorts } from '../support/free-port.ts';
import { launcher, portFlagsOf } from '../support/node-process.ts';

const basic = (name: string) => `Basic ${Buffer.from(`${name}:password`).toString('base64')}`;

test('nobody else can set up a node during its first start, and early statements are answered once its bucket exists', {
  timeout: 600_000,
}, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-first-'));
  const ready = join(dataDir, 'ready.json');
  const [port = 0, queryPort = 0] = await freePorts(2);
  const flags = portFlagsOf({ rest: port, query: queryPort });
  flags.push('--services', 'kv,index,n1ql', '--bucket', 'shop');
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
  const setUpRepeatedly = async (authorization: string | null) => {
    while (!existsSync(ready) && child.exitCode === null) {
      const headers = authorization === null ? {} : { authorization };
      const answer = await fetch(`${rest}/settings/web`, { method: 'POST', body, headers }).catch(() => null);
      if (answer) answers.push(answer.status);
      else await new Promise((resolve) => setImmediate(resolve));
    }
  };
  /** Sends a statement until the port is open; the first answer must be right. */
  const earlyStatement = async () => {
    const headers = { authorization: basic('Administrator') };
    const body = new URLSearchParams({ statement: 'SELECT COUNT(*) AS n FROM shop' });
    for (;;) {
      const url = `http://127.0.0.1:${queryPort}/query/service`;
      const answer = await fetch(url, { method: 'POST', body, headers }).catch(() => null);
      if (answer) return [answer.status, ((await answer.json()) as { results: unknown }).results];
      if (child.exitCode !== null) return null;
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const statementAnswer = earlyStatement();
  await Promise.all([
    ...Array.from({ length: 6 }, () => setUpRepeatedly(null)),
    setUpRepeatedly(basic('intruder')),
  ]);
  assert.equal(child.exitCode, null, 'the node ended');
  assert.deepEqual(await statementAnswer, [200, [{ n: 0 }]]);
  assert.ok(answers.length > 0);
  assert.deepEqual([...new Set(answers)], [401]);
  const whoami = async (name: string) =>
    (await fetch(`${rest}/whoami`, { headers: { authorization: basic(name) } })).status;
  assert.deepEqual([await whoami('Administrator'), await whoami('intruder')], [200, 401]);
});
