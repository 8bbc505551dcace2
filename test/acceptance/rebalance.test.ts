// Two nodes: the added one is rebalanced in, serves, and is rebalanced out again.
import assert from 'node:assert/strict';
import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { addNode } from '../support/join-nodes.ts';
import { administrator, eventuallyWithin, NodeProcess } from '../support/node-process.ts';

const waitLimitMs = 240_000;
const names = ['ns_1@127.0.0.1', 'n_1@127.0.0.1'];

interface Pool {
  nodes: { otpNode: string; clusterMembership: string; status: string }[];
  balanced: boolean;
  rebalanceStatus: string;
}

const read = async <T>(node: NodeProcess, path: string): Promise<T> =>
  (await node.request(path)).json() as Promise<T>;
const members = async (node: NodeProcess): Promise<string[]> =>
  (await read<Pool>(node, '/pools/default')).nodes.map(
    ({ otpNode, clusterMembership }) => `${otpNode} ${clusterMembership}`,
  );
const orchestrator = async (node: NodeProcess): Promise<string> =>
  (await read<{ orchestrator: string }>(node, '/pools/default/terseClusterInfo')).orchestrator;
const rebalance = (node: NodeProcess, knownNodes: readonly string[], ejectedNodes: readonly string[] = []) =>
  node.request('/controller/rebalance', 'POST', {
    knownNodes: knownNodes.join(','),
    ejectedNodes: ejectedNodes.join(','),
  });
const taskOf = async (node: NodeProcess): Promise<{ status: string; statusId?: string } | undefined> => {
  const tasks = await read<{ type: string; status: string; statusId?: string }[]>(
    node,
    '/pools/default/tasks',
  );
  return tasks.find(({ type }) => type === 'rebalance');
};
/** Resolves once a rebalance after the one with the id has ended. */
const untilEnded = (node: NodeProcess, former?: string): Promise<void> =>
  eventuallyWithin(waitLimitMs, async () => {
    const task = await taskOf(node);
    assert.equal(task?.status, 'notRunning');
    assert.notEqual(task?.statusId, former);
  });
/** Rebalances without removing a node; resolves once that has ended. */
async function rebalanceFully(node: NodeProcess): Promise<void> {
  const former = (await taskOf(node))?.statusId;
  assert.equal((await rebalance(node, names)).status, 200);
  await untilEnded(node, former);
}

const firstNode = () => NodeProcess.start({ args: ['--services', 'kv', '--memory-quota', '256'] });
const startUnprovisioned = () => NodeProcess.start({ unprovisioned: true, args: ['--services', 'kv'] });

describe('a rebalance of two nodes', () => {
  let first: NodeProcess;
  /** Removed from the cluster by each test but the last one. */
  let second: NodeProcess;
  before(async () => {
    first = await firstNode();
    second = await startUnprovisioned();
  });
  after(async () => {
    for (const node of [first, second]) await node?.[Symbol.asyncDispose]();
  });
  /** Until a removed node listens on all its ports it cannot be added. */
  const addAgain = () => eventuallyWithin(waitLimitMs, () => addNode(first, second));

  it('activates an added node, and removes it again', async () => {
    assert.equal(await orchestrator(first), 'ns_1@cb.local');
    await addNode(first, second);
    assert.equal((await read<Pool>(first, '/pools/default')).balanced, false);
    const answer = await rebalance(second, names);
    assert.deepEqual([answer.status, await answer.text()], [200, '']);
    await untilEnded(first);
    for (const node of [first, second]) {
      await eventuallyWithin(waitLimitMs, async () => {
        assert.deepEqual(
          await members(node),
          names.map((name) => `${name} active`),
        );
        assert.equal((await read<Pool>(node, '/pools/default')).balanced, true);
        assert.ok(names.includes(await orchestrator(node)));
      });
    }
    assert.equal(await orchestrator(first), await orchestrator(second));
    assert.deepEqual(await read(first, '/pools/default/rebalanceProgress'), { status: 'none' });

    assert.equal((await rebalance(first, names, names.slice(1))).status, 200);
    await eventuallyWithin(waitLimitMs, async () =>
      assert.deepEqual(await members(first), [`${names[0]} active`]),
    );
    assert.equal(await orchestrator(first), names[0]);
    await eventuallyWithin(waitLimitMs, async () => {
      const pools = (await (await fetch(`${second.ready.node.rest}/pools`)).json()) as { pools: unknown[] };
      assert.deepEqual(pools.pools, [], 'the removed node still belongs to a cluster');
    });
  });

  it('removes a node whose disk takes no changes; the node leaves once its disk takes them again', async () => {
    await addAgain();
    await rebalanceFully(first);
    // A folder under the temporary name of the file makes the write of the file fail, as a full disk would.
    const obstacle = join(second.dataDir, 'member.json.tmp');
    mkdirSync(obstacle);
    assert.equal((await rebalance(first, names, names.slice(1))).status, 200);
    await eventuallyWithin(waitLimitMs, async () =>
      assert.deepEqual(await members(first), [`${names[0]} active`]),
    );
    await eventuallyWithin(waitLimitMs, () => assert.match(second.output, /node\.not_left/));
    rmdirSync(obstacle);
    await eventuallyWithin(waitLimitMs, async () => {
      const pools = (await (await fetch(`${second.ready.node.rest}/pools`)).json()) as { pools: unknown[] };
      assert.deepEqual(pools.pools, []);
    });
  });

  it('is refused if it names other nodes than the cluster has', async () => {
    await addAgain();
    const refusal = async (knownNodes: readonly string[], ejected: readonly string[] = []) => {
      const answer = await rebalance(first, knownNodes, ejected);
      return [answer.status, await answer.text()];
    };
    assert.deepEqual(await refusal([]), [400, '{"empty_known_nodes":1}']);
    assert.deepEqual(await refusal(names.slice(1)), [400, '{"mismatch":1}']);
    assert.deepEqual(await refusal([...names, 'n_2@127.0.0.1']), [400, '{"mismatch":1}']);
    assert.deepEqual(await refusal(names, ['n_2@127.0.0.1']), [400, '{"mismatch":1}']);
    assert.deepEqual(await refusal(names, names), [400, 'No active nodes left']);
    assert.deepEqual(await members(first), [`${names[0]} active`, `${names[1]} inactiveAdded`]);
  });

  it('removes a dead node after its failover, and creates its shards, empty, on the other node', async () => {
    await rebalanceFully(first);
    const bucket = { name: 'b', ramQuotaMB: '100', bucketType: 'membase', replicaNumber: '0' };
    assert.equal((await first.request('/pools/default/buckets', 'POST', bucket)).status, 202);
    const serversAndMap = async (): Promise<[string[], number[][]]> => {
      const { vBucketServerMap } = await read<{
        vBucketServerMap: { serverList: string[]; vBucketMap: number[][] };
      }>(first, '/pools/default/b/b');
      return [vBucketServerMap.serverList, vBucketServerMap.vBucketMap];
    };
    await eventuallyWithin(waitLimitMs, async () => {
      const [list, map] = await serversAndMap();
      assert.equal(list.length, 2);
      assert.equal(map.filter(([active]) => active === 1).length, 512);
    });
    const [, dead] = names as [string, string];
    await second.stop('SIGKILL');
    const failOver = async (form: Record<string, string>) => {
      const answer = await first.request('/controller/failOver', 'POST', form);
      return [answer.status, await answer.text()];
    };
    assert.deepEqual(await failOver({ otpNode: dead }), [
      504,
      'Cannot safely perform a failover at the moment',
    ]);
    assert.deepEqual(await failOver({ otpNode: dead, allowUnsafe: 'true' }), [200, '']);
    assert.deepEqual(await members(first), [`${names[0]} active`, `${dead} inactiveFailed`]);
    await eventuallyWithin(waitLimitMs, async () => {
      const [, map] = await serversAndMap();
      assert.equal(map.filter(([active]) => active === -1).length, 512);
    });
    assert.equal((await rebalance(first, names)).status, 200);
    await eventuallyWithin(waitLimitMs, async () => {
      assert.deepEqual(await members(first), [`${names[0]} active`]);
      const [list, map] = await serversAndMap();
      assert.equal(list.length, 1);
      assert.ok(map.every(([active]) => active === 0));
    });
    for (let i = 0; i < 20; i++) {
      const path = `/pools/default/buckets/b/docs/key-${i}`;
      await eventuallyWithin(waitLimitMs, async () =>
        assert.equal((await first.request(path, 'POST', { value: `${i}` })).status, 200),
      );
    }
  });

  it('lets a node answer statements on a bucket that is on both nodes', async () => {
    await using first = await NodeProcess.start({ args: ['--bucket', 'whole'] });
    await using second = await startUnprovisioned();
    const query = async (statement: string) => {
      const { username, password } = administrator;
      const response = await fetch(`${first.ready.node.query}/query/service`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${username}:${password}`)}` },
        body: new URLSearchParams({ statement }),
      });
      return (await response.json()) as { results?: unknown[]; errors?: { code: number; msg: string }[] };
    };
    await eventuallyWithin(waitLimitMs, async () =>
      assert.deepEqual((await query('SELECT RAW COUNT(*) FROM whole')).results, [0]),
    );
    assert.equal((await first.request('/pools/default/buckets/whole', 'DELETE')).status, 200);
    await addNode(first, second);
    await rebalanceFully(first);
    const form = { name: 'spread', ramQuota: '100' };
    assert.equal((await first.request('/pools/default/buckets', 'POST', form)).status, 202);
    await eventuallyWithin(waitLimitMs, async () =>
      assert.deepEqual((await query('SELECT RAW COUNT(*) FROM spread')).results, [0]),
    );
  });
});
