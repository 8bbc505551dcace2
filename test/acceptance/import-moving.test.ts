// An import whose vbuckets move to another node meanwhile: nothing is lost by that, and the import says so.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { addNode, rebalance } from '../support/join-nodes.ts';
import { launcher, NodeProcess } from '../support/node-process.ts';
import { nodeEnvironment } from '../support/remote-command.ts';
import { contentOf } from '../support/xdcr.ts';

const timeout = 240_000;
const lines = (from: number, count: number): string =>
  Array.from({ length: count }, (_, n) => `${JSON.stringify({ id: from + n })}\n`).join('');

test('an import during a rebalance succeeds, and does not report lost documents', { timeout }, async () => {
  await using first = await NodeProcess.start({ args: ['--bucket', 'b'] });
  await using second = await NodeProcess.start({ unprovisioned: true });
  const args = ['import', 'b', '-', '--format', 'lines', '--generate-key', 'k-%id%', '--json'];
  const child = spawn(process.execPath, [launcher, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...nodeEnvironment(first) },
  });
  const printed = { out: '', error: '' };
  child.stdout.on('data', (chunk: Buffer) => (printed.out += chunk));
  const begun = Promise.withResolvers<void>();
  child.stderr.on('data', (chunk: Buffer) => {
    printed.error += chunk;
    begun.resolve();
  });
  const ended = once(child, 'close');
  child.stdin.write(lines(0, 20_000));
  await Promise.race([begun.promise, new Promise((resolve) => setTimeout(resolve, 3_000))]);
  await addNode(first, second);
  await rebalance(first);
  child.stdin.end(lines(20_000, 1_000));
  const [status] = (await ended) as [number];
  assert.equal(status, 0, printed.error);
  assert.equal(JSON.parse(printed.out).written, 21_000);
  const found = [await contentOf(first), await contentOf(second)];
  assert.ok(found.every((content) => content.size > 0));
  assert.equal(found[0]!.size + found[1]!.size, 21_000);
});
