// While the official SDK writes, a graceful failover moves the shards of one of two nodes to the other; then the node is recovered.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addNode } from '../support/join-nodes.ts';
import { administrator, eventuallyWithin, NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const waitLimitMs = 240_000;
const keys = 500;
/** The names that a cluster gives its first node, and the next one with the same address. */
const names = ['ns_1@127.0.0.1', 'n_1@127.0.0.1'] as const;

async function post(node: NodeProcess, path: string, form: Record<string, string>): Promise<void> {
  const answer = await node.request(path, 'POST', form);
  assert.ok(answer.ok, `${path}: ${answer.status} ${await answer.text()}`);
}

interface Task {
  type: string;
  subtype?: string;
  status: string;
  errorMessage?: string;
}

const untilEnded = (node: NodeProcess, subtype: string): Promise<void> =>
  eventuallyWithin(waitLimitMs, async () => {
    const tasks = (await (await node.request('/pools/default/tasks')).json()) as Task[];
    const task = tasks.find(({ type }) => type === 'rebalance');
    assert.deepEqual([task?.status, task?.subtype, task?.errorMessage], ['notRunning', subtype, undefined]);
  });

const memberships = async (node: NodeProcess): Promise<string[]> => {
  const { nodes } = (await (await node.request('/pools/default')).json()) as {
    nodes: { clusterMembership: string }[];
  };
  return nodes.map(({ clusterMembership }) => clusterMembership);
};

test('a graceful failover loses and refuses no write, and a recovery makes the node active again', {
  timeout: 600_000,
}, async () => {
  await using first = await NodeProcess.start({ args: ['--services', 'kv', '--memory-quota', '256'] });
  await using second = await NodeProcess.start({ unprovisioned: true, args: ['--services', 'kv'] });
  await addNode(first, second);
  const rebalance = () => post(first, '/controller/rebalance', { knownNodes: names.join(',') });
  await rebalance();
  await untilEnded(first, 'rebalance');
  await post(first, '/pools/default/buckets', { name: 'b', ramQuotaMB: '100', replicaNumber: '1' });
  const cluster = await connect(`couchbase://${first.ready.node.kv}`, administrator);
  await using closing = new AsyncDisposableStack();
  closing.defer(() => cluster.close());
  const collection = cluster.bucket('b').defaultCollection();
  await eventuallyWithin(waitLimitMs, () => collection.upsert('first', {}));
  const written = new Map<string, number>();
  let isOver = false;
  const writing = (async () => {
    for (let i = 0; !isOver; i++) {
      const key = `key-${i % keys}`;
      await collection.upsert(key, { i }, { timeout: 60_000 });
      written.set(key, i);
    }
  })();
  try {
    await post(first, '/controller/startGracefulFailover', { otpNode: names[1] });
    await untilEnded(first, 'gracefulFailover');
    assert.deepEqual(await memberships(first), ['active', 'inactiveFailed']);
    await post(first, '/controller/setRecoveryType', { otpNode: names[1], recoveryType: 'full' });
    await rebalance();
    await untilEnded(first, 'rebalance');
    assert.deepEqual(await memberships(first), ['active', 'active']);
  } finally {
    isOver = true;
    await writing;
  }
  assert.ok(written.size > 0);
  for (const [key, i] of written) assert.equal((await collection.get(key)).content.i, i);
});
