import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { aSeed } from '../../../test/support/random.ts';
import { buckets, cluster, failedRebalance, plan } from '../../../test/support/rebalanced-cluster.ts';
import {
  type BucketMap,
  type BucketsState,
  bucketsKey,
  clusterKey,
  mapKey,
  type ShardPlacement,
} from '../config/cluster-state.ts';
import { promotedShard } from '../topology/promoted-shard.ts';
import { pendingRetry } from './rebalance-retry.ts';

async function checkMaps(map: (uuid: string) => Promise<BucketMap>, nodes: string[]): Promise<void> {
  for (const uuid of buckets) {
    const { nodes: named, shards, forward } = await map(uuid);
    assert.deepEqual([...named].sort(), nodes);
    assert.equal(forward, undefined);
    const actives = nodes.map((id) => shards.filter(({ chain }) => named[chain[0] ?? -1] === id).length);
    assert.ok(Math.max(...actives) - Math.min(...actives) <= 1, `${actives}`);
    assert.ok(shards.every(({ incoming, successor }) => !incoming && successor === undefined));
  }
}

/** The map after a node has given the shards for which it was promoted to the first node; null: there are none. */
function givenBack(map: BucketMap, from: string): BucketMap | null {
  const position = map.nodes.indexOf(from);
  const isGiven = ({ chain, confirmed, inSync = [] }: ShardPlacement): boolean =>
    chain[0] === position && confirmed === undefined && inSync.some(([member]) => member === 0);
  if (!map.shards.some(isGiven)) return null;
  return {
    ...map,
    shards: map.shards.map((shard) => (isGiven(shard) ? promotedShard(shard, 0, shard.chain) : shard)),
  };
}

describe('the rebalancer', () => {
  it('does nothing without a plan, and nothing on a node that is not the orchestrator', async () => {
    const { clock, server, orchestrator, change, state } = await cluster('a b', 'a');
    await orchestrator(1);
    await clock.run(10_000);
    await orchestrator(null);
    const revision = (await server.get(clusterKey))?.revision;
    assert.equal(revision, 1);
    await change({ balance: plan({ nodes: ['a', 'b'], term: 2 }) });
    await clock.run(10_000);
    assert.notEqual((await state()).balance, undefined, 'a plan of a later orchestrator is left alone');
  });

  it('moves every bucket to the nodes that stay, and removes the others', async () => {
    const { orchestrator, change, untilEnded, map, server, state, ended } = await cluster('a b c', 'a b');
    await orchestrator(1);
    const balance = plan({ nodes: ['b', 'c'], ejected: ['a'] });
    await change({ balance });
    await untilEnded();
    await checkMaps(map, ['b', 'c']);
    const { nodes, left, lastBalance } = await state();
    assert.deepEqual(
      nodes.map(({ uuid }) => uuid),
      ['b', 'c'],
    );
    const named = { kept: ['ns_1@b', 'ns_1@c'], ejected: ['ns_1@a'], failed: [] };
    assert.deepEqual([left, lastBalance?.outcome, lastBalance?.named], [['a'], 'completed', named]);
    assert.deepEqual(ended, [{ ...lastBalance, term: 1 }]);
    // Refuses buckets that are being created on the nodes of before.
    assert.equal((await server.get<BucketsState>(bucketsKey))?.value.endedPlan, balance.id);
  });

  it('takes the next steps as soon as a data service has changed the map', async () => {
    const { clock, server, orchestrator, change } = await cluster('a b', 'a');
    await change({ balance: plan({ nodes: ['a', 'b'] }) });
    await orchestrator(1);
    const revision = async () => (await server.get(mapKey('first')))?.revision ?? 0;
    // The data services take the first steps after 100 ms, and the next ones after 600.
    await clock.run(160);
    const begun = await revision();
    await clock.run(445);
    const reactedTo = await revision();
    await clock.run(50);
    assert.ok(reactedTo > begun, 'no data service has changed the map');
    assert.ok(
      (await revision()) > reactedTo,
      'the orchestrator has not reacted to the change of the data service',
    );
  });

  it('keeps a node that leaves, or is failed over gracefully, until clients that ask for the map every 2.5 seconds have one without it', async () => {
    for (const leaving of [{ ejected: ['a'] }, { kind: 'gracefulFailover', failing: ['a'] }] as const) {
      const { clock, orchestrator, change, map, state } = await cluster('a b c', 'a b');
      await orchestrator(1);
      await change({ balance: plan({ nodes: ['b', 'c'], ...leaving }) });
      let [withoutMs, finishingMs] = [0, 0];
      for (; (await state()).balance !== undefined; await clock.run(50)) {
        const maps = await Promise.all(buckets.map(map));
        const isLeft = maps.every(({ nodes, shards }) =>
          shards.every(({ chain, confirmed }) => nodes[chain[0] ?? -1] !== 'a' && confirmed !== undefined),
        );
        if (isLeft) withoutMs += 50;
        const { balance } = await state();
        if (balance?.hasMoved) finishingMs += 50;
        assert.ok(
          isLeft || !balance?.hasMoved,
          'statements are sent to the node until its shards have moved',
        );
      }
      assert.ok(withoutMs > 2_500 && finishingMs > 2_500, `${withoutMs} and ${finishingMs} ms`);
      const stays = (await state()).nodes.find(({ uuid }) => uuid === 'a')?.membership;
      assert.equal(stays, leaving.ejected === undefined ? 'inactiveFailed' : undefined);
    }
  });

  it('keeps the mark of newly active nodes until a rebalance has completed', async () => {
    const { orchestrator, change, untilEnded, state, down } = await cluster('a b c', 'a b');
    await orchestrator(1);
    const nodes = (await state()).nodes.map((node) =>
      node.uuid === 'c' ? { ...node, newlyActive: true as const } : node,
    );
    const newly = async () => (await state()).nodes.filter((node) => node.newlyActive).length;
    down.add('b');
    await change({ nodes, balance: plan({ id: 'first', nodes: ['a', 'b', 'c'] }) });
    await untilEnded();
    assert.deepEqual([(await state()).lastBalance?.outcome, await newly()], ['failed', 1]);
    down.clear();
    await change({ balance: plan({ id: 'second', nodes: ['a', 'b', 'c'] }) });
    await untilEnded();
    assert.deepEqual([(await state()).lastBalance?.outcome, await newly()], ['completed', 0]);
  });

  it('of the next orchestrator continues a plan, in its own term', async () => {
    const { clock, orchestrator, change, untilEnded, map, state } = await cluster('a b c', 'a');
    const first = await orchestrator(1);
    await change({ balance: plan({ nodes: ['a', 'b', 'c'] }) });
    await clock.run(1_500);
    assert.notEqual((await map('first')).forward, undefined);
    first.lease.term = null;
    await orchestrator(2);
    await clock.run(500);
    assert.equal((await state()).balance?.term, 2);
    await untilEnded();
    await checkMaps(map, ['a', 'b', 'c']);
  });

  it('is not disturbed by two orchestrators and a faulty store', async (t) => {
    const random = aSeed(t);
    for (let round = 0; round < 5; round++) {
      const { clock, orchestrator, change, state, map, ended } = await cluster('a b c', 'a b', random);
      const both = [await orchestrator(1), await orchestrator(2)];
      for (const { store } of both)
        store.faults = {
          delayMaxMs: 100,
          stalePercent: 10,
          lostRequestPercent: 5,
          lostAnswerPercent: 5,
          latePercent: 2,
        };
      await change({ balance: plan({ nodes: ['b', 'c'], ejected: ['a'] }) });
      for (let seconds = 0; (await state()).balance !== undefined; seconds++) {
        assert.ok(seconds < 600, 'the rebalance does not end');
        await clock.run(1_000);
      }
      for (const { lease, rebalancer } of both) {
        lease.term = null;
        rebalancer.stop();
      }
      await clock.run(20_000);
      for (const uuid of buckets) assert.deepEqual([...(await map(uuid)).nodes].sort(), ['b', 'c']);
      assert.ok(ended.length <= 1);
    }
  });

  it('fails a failover whose promoted nodes have restarted and give their shards back', async () => {
    const { clock, server, orchestrator, change, untilEnded, state, map } = await cluster('a b c', 'a b');
    for (const uuid of buckets) {
      await server.watch(mapKey(uuid), (_, entry) => {
        const returned = entry && givenBack(entry.value as BucketMap, 'b');
        // As the data services do that find an earlier boot of themselves in the in-sync set.
        if (returned) clock.after(20, () => void server.put(entry.key, returned, entry.revision));
      });
    }
    await orchestrator(1);
    await change({ balance: plan({ kind: 'failover', nodes: ['b', 'c'], failing: ['a'] }) });
    await untilEnded();
    const { lastBalance, nodes } = await state();
    assert.equal(lastBalance?.outcome, 'failed');
    assert.match(lastBalance?.reason ?? '', /no other copy that is sure to hold every durable write/);
    assert.ok(nodes.every(({ membership }) => membership === 'active'));
    assert.ok((await map('first')).shards.every(({ epoch }) => epoch < 10));
  });

  it('stops where it is, and leaves the nodes in the cluster', async () => {
    const { clock, orchestrator, change, untilEnded, map, state } = await cluster('a b c', 'a b');
    await orchestrator(1);
    const running = plan({ nodes: ['b', 'c'], ejected: ['a'] });
    await change({ balance: running });
    await clock.run(1_500);
    await change({ balance: { ...running, stopping: { reason: null } } });
    await untilEnded();
    const { nodes, lastBalance } = await state();
    assert.deepEqual([nodes.length, lastBalance?.outcome, lastBalance?.reason], [3, 'stopped', undefined]);
    const { shards, forward, nodes: named } = await map('first');
    assert.equal(forward, undefined);
    assert.ok(named.includes('a'));
    assert.ok(shards.every(({ incoming, confirmed }) => !incoming && confirmed !== undefined));
  });

  it('stops without waiting for shards of nodes that are down, so that these can fail over', async () => {
    const { clock, down, orchestrator, change, map, state } = await cluster('a b c', 'a b');
    await orchestrator(1);
    const running = plan({ nodes: ['a', 'b', 'c'] });
    await change({ balance: running });
    await clock.run(1_500);
    down.add('b');
    await change({ balance: { ...running, stopping: { reason: 'A node fails over automatically.' } } });
    await clock.run(5_000);
    assert.equal((await state()).balance, undefined);
    const { nodes, shards, forward } = await map('first');
    assert.equal(forward, undefined);
    const isMoving = ({ chain, incoming = [], confirmed, inSync = [] }: ShardPlacement): boolean =>
      incoming.length > 0 || confirmed === undefined || inSync.some(([member]) => !chain.includes(member));
    const moving = shards.filter(isMoving);
    assert.ok(moving.length > 0, 'no shard was being moved when the rebalance was stopped');
    for (const { chain, incoming = [] } of moving)
      assert.ok([...chain, ...incoming].some((position) => nodes[position] === 'b'));
  });

  it('fails with a reason when a node fails', async () => {
    const { clock, down, orchestrator, change, untilEnded, state, map } = await cluster('a b c', 'a b');
    await orchestrator(1);
    await change({ balance: plan({ nodes: ['a', 'b', 'c'] }) });
    await clock.run(1_000);
    down.add('c');
    await untilEnded();
    const { lastBalance, needsRebalance } = await state();
    assert.deepEqual([lastBalance?.outcome, lastBalance?.reason], ['failed', 'Node ns_1@c does not answer.']);
    assert.equal(needsRebalance, true);
    assert.equal((await map('first')).forward, undefined);
  });

  it('waits for a node that is down as long as before when an earlier rebalance failed because of it', async () => {
    const { clock, down, orchestrator, change, untilEnded, state, map } = await cluster('a b c', 'a b');
    await orchestrator(1);
    down.add('c');
    await change({ balance: plan({ nodes: ['a', 'b', 'c'] }) });
    await untilEnded();
    await change({ balance: plan({ id: 'next', nodes: ['a', 'b', 'c'] }) });
    await clock.run(10_000);
    assert.equal((await state()).balance?.stopping, undefined);
    down.delete('c');
    await untilEnded();
    const { lastBalance, needsRebalance } = await state();
    assert.deepEqual([lastBalance?.outcome, needsRebalance], ['completed', undefined]);
    await checkMaps(map, ['a', 'b', 'c']);
  });

  it('tries a failed rebalance again as often as the settings say', async () => {
    const settings = { enabled: true, afterTimePeriod: 60, maxAttempts: 2 };
    const { clock, down, state, untilEnded, map, ended } = await failedRebalance(settings);
    const waiting = pendingRetry(await state(), (await state()).retry?.dueMs ?? 0);
    assert.deepEqual(waiting, {
      retry_rebalance: 'pending',
      rebalance_id: 'plan',
      type: 'rebalance',
      attempts_remaining: 2,
      retry_after_secs: 0,
      known_nodes: ['ns_1@a', 'ns_1@b', 'ns_1@c'],
      eject_nodes: [],
      delta_recovery_buckets: 'all',
    });
    await clock.run(100_000);
    assert.deepEqual(
      [(await state()).retry?.attemptsLeft, ended.length],
      [1, 2],
      'there was no second attempt',
    );
    down.delete('c');
    await clock.run(60_000);
    await untilEnded();
    assert.deepEqual(
      ended.map(({ outcome }) => outcome),
      ['failed', 'failed', 'completed'],
    );
    assert.equal((await state()).retry, undefined);
    await checkMaps(map, ['a', 'b', 'c']);
  });

  it('makes no attempt after the last attempt of the settings, and none in another cluster', async () => {
    const { clock, orchestrator, change, down, retrySettings, state, ended } = await cluster('a b c', 'a b');
    Object.assign(retrySettings, { enabled: true, afterTimePeriod: 5, maxAttempts: 1 });
    await orchestrator(1);
    down.add('c');
    await change({ balance: plan({ nodes: ['a', 'b', 'c'] }) });
    await clock.run(200_000);
    assert.deepEqual(
      [ended.length, (await state()).retry, (await state()).balance],
      [2, undefined, undefined],
    );
    // The clock may have been ahead when the rebalance failed.
    for (const dueMs of [0, clock.wallMs() + 86_400_000]) {
      await change({ retry: { id: 'old', nodes: ['a', 'b'], ejected: [], dueMs, attemptsLeft: 1 } });
      await clock.run(10_000);
      assert.deepEqual([ended.length, (await state()).retry], [2, undefined]);
    }
  });

  it('removes a dead node that was failed over', async () => {
    const { down, orchestrator, change, untilEnded, state, map } = await cluster('a b c', 'b c');
    const { nodes } = await state();
    const failed = nodes.map((node) =>
      node.uuid === 'a' ? { ...node, membership: 'inactiveFailed' as const } : node,
    );
    down.add('a');
    await orchestrator(1);
    await change({ nodes: failed, balance: plan({ nodes: ['b', 'c'], ejected: ['a'] }) });
    await untilEnded();
    assert.deepEqual([(await state()).left, (await state()).lastBalance?.outcome], [['a'], 'completed']);
    await checkMaps(map, ['b', 'c']);
  });

  it('fails a dead node over: another member of each in-sync set is promoted', async () => {
    const { down, orchestrator, change, untilEnded, state, map } = await cluster('a b c', 'a b c');
    const before = await map('first');
    down.add('a');
    await orchestrator(1);
    await change({ balance: plan({ kind: 'failover', nodes: ['b', 'c'], failing: ['a'] }) });
    await untilEnded();
    const { nodes, lastBalance } = await state();
    assert.deepEqual([lastBalance?.outcome, nodes[0]?.membership], ['completed', 'inactiveFailed']);
    const after = await map('first');
    after.shards.forEach(({ chain, epoch }, shard) => {
      const had = before.shards[shard]?.chain.map((node) => before.nodes[node]);
      const has = chain.map((node) => after.nodes[node]);
      assert.deepEqual(has, [...(had ?? []).filter((node) => node !== 'a'), undefined].slice(0, 2));
      assert.equal(epoch, had?.[0] === 'a' ? 2 : 1);
    });
  });

  it('does not fail over to copies that are not in sync, unless that is allowed', async () => {
    const { server, orchestrator, change, untilEnded, state, map } = await cluster('a b c', 'a b c');
    const entry = (await server.get<BucketMap>(mapKey('first'))) ?? assert.fail('no map');
    const alone = entry.value.shards.map((shard) => ({ ...shard, inSync: shard.inSync?.slice(0, 1) ?? [] }));
    // The data services of this simulation do not let the copies join again.
    await server.put(mapKey('first'), { ...entry.value, shards: alone }, entry.revision);
    await orchestrator(1);
    const failing = plan({ kind: 'failover', nodes: ['b', 'c'], failing: ['a'] });
    await change({ balance: failing });
    await untilEnded();
    const { lastBalance, nodes } = await state();
    assert.equal(nodes[0]?.membership, 'active');
    assert.match(`${lastBalance?.reason}`, /Shards of the bucket "first" have no other copy/);
    await change({ balance: { ...failing, id: 'again', allowUnsafe: true } });
    await untilEnded();
    assert.ok(!(await map('first')).shards.some(({ chain }) => chain[0] === 0));
    assert.equal((await state()).nodes[0]?.membership, 'inactiveFailed');
  });

  it('moves the actives away from a node before it is failed over gracefully', async () => {
    const { orchestrator, change, untilEnded, state, map } = await cluster('a b c', 'a b c');
    await orchestrator(1);
    await change({ balance: plan({ kind: 'gracefulFailover', nodes: ['b', 'c'], failing: ['a'] }) });
    await untilEnded();
    const { nodes, lastBalance } = await state();
    assert.deepEqual([lastBalance?.outcome, nodes[0]?.membership], ['completed', 'inactiveFailed']);
    const { nodes: named, shards } = await map('first');
    assert.ok(!named.includes('a'));
    assert.ok(
      shards.some(({ chain }) => chain[1] === -1),
      'no copy is filled for it',
    );
  });
});
