// An import into vbuckets that move to another node meanwhile: no document is lost, and none is reported as lost.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { addNode, rebalance } from '../support/join-nodes.ts';
import { eventually, launcher, NodeProcess } from '../support/node-process.ts';
import { nodeEnvironment } from '../support/remote-command.ts';
import { contentOf } from '../support/xdcr.ts';

const timeout = 600_000;
const before = 20_000;
const after = 1_000;
const lines = (from: number, count: number): string =>
  Array.from({ length: count }, (_, n) => `${JSON.stringify({ id: from + n })}\n`).join('');

test('an import during a rebalance succeeds, and does not report lost documents', { timeout }, async (t) => {
  await using first = await NodeProcess.start({ args: ['--bucket', 'b'] });
  await using second = await NodeProcess.start({ unprovisioned: true });
  const args = ['import', 'b', '-', '--format', 'lines', '--generate-key', 'k-%id%', '--json'];
  const child = spawn(process.execPath, [launcher, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...nodeEnvironment(first) },
  });
  t.after(() => child.kill('SIGKILL'));
  const printed = { out: '', error: '' };
  child.stdout.on('data', (chunk: Buffer) => (printed.out += chunk));
  child.stderr.on('data', (chunk: Buffer) => (printed.error += chunk));
  const ended = once(child, 'close');
  child.stdin.write(lines(0, before));
  await eventually(async () => assert.ok((await contentOf(first)).size > 0));
  await addNode(first, second);
  await rebalance(first);
  child.stdin.end(lines(before, after));
  const [status] = (await ended) as [number];
  assert.equal(status, 0, printed.error);
  assert.equal(JSON.parse(printed.out).written, before + after);
  const [atFirst, atSecond] = [await contentOf(first), await contentOf(second)];
  assert.ok(atFirst.size > 0 && atSecond.size > 0);
  assert.equal(atFirst.size + atSecond.size, before + after);
});
