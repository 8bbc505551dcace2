// The founder of two nodes, which stores their configuration, leaves by a rebalance while a client writes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { administrator, eventuallyWithin, NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const waitLimitMs = 240_000;
const keys = 500;
const pauseMs = 5;

interface Pool {
  balanced: boolean;
  nodes: { otpNode: string; thisNode?: boolean }[];
}

const pool = async (node: NodeProcess): Promise<Pool> =>
  (await node.request('/pools/default')).json() as Promise<Pool>;

async function post(node: NodeProcess, path: string, form: Record<string, string>): Promise<void> {
  const answer = await node.request(path, 'POST', form);
  assert.ok(answer.ok, `${path}: ${answer.status} ${await answer.text()}`);
}

test('a founder that leaves by a rebalance hands the configuration over, and no write of a client fails', {
  timeout: 600_000,
}, async (t) => {
  await using first = await NodeProcess.start({ args: ['--services', 'kv', '--memory-quota', '256'] });
  await using second = await NodeProcess.start({
    args: ['--services', 'kv', '--join', first.ready.node.rest],
  });
  await post(first, '/pools/default/buckets', { name: 'b', ramQuotaMB: '100', replicaNumber: '0' });
  const cluster = await connect(`couchbase://${first.ready.node.kv},${second.ready.node.kv}`, administrator);
  const collection = cluster.bucket('b').defaultCollection();
  let written = 0;
  let isOver = false;
  const writing = (async () => {
    for (; !isOver; written++) {
      await collection.upsert(`key-${written % keys}`, { written });
      await pause(pauseMs);
    }
  })();
  try {
    await eventuallyWithin(waitLimitMs, async () => assert.ok(written > 100));
    const { nodes } = await pool(first);
    const knownNodes = nodes.map(({ otpNode }) => otpNode).join(',');
    const ejectedNodes = nodes.find(({ thisNode }) => thisNode)?.otpNode ?? '';
    await post(first, '/controller/rebalance', { knownNodes, ejectedNodes });
    await eventuallyWithin(waitLimitMs, async () => {
      const left = await pool(second);
      assert.deepEqual([left.nodes.length, left.balanced], [1, true]);
    });
    const before = written;
    await eventuallyWithin(waitLimitMs, async () => assert.ok(written > before + 50));
    isOver = true;
    await writing;
    t.diagnostic(`${written} writes`);
    for (let key = 0; key < Math.min(written, keys); key++) await collection.get(`key-${key}`);
  } finally {
    isOver = true;
    await cluster.close();
  }
  await post(second, '/pools/default/buckets', { name: 'c', ramQuotaMB: '100', replicaNumber: '0' });
  // The old founder starts as a new node.
  await eventuallyWithin(waitLimitMs, async () => {
    const pools = (await (await fetch(`${first.ready.node.rest}/pools`)).json()) as { pools: unknown[] };
    assert.deepEqual(pools.pools, []);
  });
});
