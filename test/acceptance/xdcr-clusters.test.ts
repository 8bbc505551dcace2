// Replication between clusters of two nodes each, while buckets are spread over the added nodes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventuallyWithin, NodeProcess } from '../support/node-process.ts';
import { storing } from '../support/storing.ts';
import { bodyOf, clientOf, contentOfAll, differences, replicate, taskOf } from '../support/xdcr.ts';

const timeout = 600_000;
const waitMs = 240_000;
const names = 'ns_1@127.0.0.1,n_1@127.0.0.1';

const first = () =>
  NodeProcess.start({ args: ['--services', 'kv', '--memory-quota', '256', '--bucket', 'b'] });
const second = () => NodeProcess.start({ unprovisioned: true, args: ['--services', 'kv'] });

async function addAndRebalance(member: NodeProcess, added: NodeProcess): Promise<void> {
  const call = { hostname: added.ready.node.rest, user: '', password: '' };
  await member.request('/controller/addNode', 'POST', call).then(bodyOf);
  assert.equal((await member.request('/controller/rebalance', 'POST', { knownNodes: names })).status, 200);
}

async function untilBalanced(node: NodeProcess): Promise<void> {
  await eventuallyWithin(waitMs, async () => {
    const pool = (await node.request('/pools/default').then(bodyOf)) as {
      balanced: boolean;
      rebalanceStatus: string;
    };
    assert.deepEqual([pool.balanced, pool.rebalanceStatus], [true, 'none']);
  });
}

test('buckets that move to added nodes on both sides go on replicating', { timeout }, async () => {
  await using source = await first();
  await using sourceTwo = await second();
  await using target = await first();
  await using targetTwo = await second();
  await replicate(source, target);
  let sent = 0;
  const write = async (node: NodeProcess, documents: number) => {
    const client = await clientOf(node);
    const start = sent;
    sent += documents;
    const requests = Array.from({ length: documents }, (_, index) => storing(`k${start + index}`, '{"a":1}'));
    // The node refuses writes to vbuckets of the other node, which do not count.
    const replies = await client.storeMany(0, requests);
    client.close();
    return replies.filter(({ status }) => status === 0).length;
  };
  let written = await write(source, 3000);
  await addAndRebalance(target, targetTwo);
  written += await write(source, 3000);
  await untilBalanced(target);
  await addAndRebalance(source, sourceTwo);
  for (let round = 0; round < 10; round++) {
    written += await write(source, 300);
    written += await write(sourceTwo, 300).catch(() => 0);
  }
  await untilBalanced(source);
  const writtenAtTwo = await write(sourceTwo, 500);
  assert.ok(writtenAtTwo > 0, 'the added node of the source accepted no write: no vbucket moved to it');
  written += (await write(source, 500)) + writtenAtTwo;
  await eventuallyWithin(waitMs, async () => {
    const replicated = await contentOfAll([target, targetTwo]);
    const original = await contentOfAll([source, sourceTwo]);
    assert.deepEqual([replicated.size, differences(original, replicated)], [original.size, []]);
    assert.ok(original.size >= written, `${original.size} of ${written} documents`);
  });
  // Each node has replicated a part; both show the sum.
  for (const node of [source, sourceTwo])
    await eventuallyWithin(waitMs, async () => {
      const { changesLeft, docsWritten } = await taskOf(node);
      assert.equal(changesLeft, 0);
      assert.ok(docsWritten >= written, `${docsWritten} of ${written} documents`);
    });
});
