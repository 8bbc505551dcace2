// How rebalances and failovers end where something happened meanwhile: another change of the cluster, a lost answer, another orchestrator.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { realRandom } from '#ports/random.ts';
import { type ConfigStore, type Entry, update } from '#replog/config-store.ts';
import { buckets, cluster, failedRebalance, plan } from '../../../test/support/rebalanced-cluster.ts';
import { ClusterStore } from '../config/cluster.store.ts';
import {
  type BucketMap,
  type BucketsState,
  bucketsKey,
  type ClusterState,
  clusterKey,
  mapKey,
  type StoredBucket,
} from '../config/cluster-state.ts';
import { withReplicaNumber } from '../config/placed-copies.ts';
import { ServerGroupsService } from '../server-groups/server-groups.service.ts';
import { mapOnOneNode } from '../topology/vbucket-map.ts';

/** Holds the changes that watchers of the store get, while `now` is true; `end` delivers them. */
function behind(store: ConfigStore) {
  const held: (() => void)[] = [];
  const state = {
    now: false,
    end(): null {
      state.now = false;
      for (const deliver of held.splice(0)) deliver();
      return null;
    },
  };
  const watch = store.watch.bind(store);
  store.watch = (prefix, changed) =>
    watch(prefix, (key, entry) => {
      if (state.now) held.push(() => changed(key, entry));
      else changed(key, entry);
    });
  return state;
}

describe('the end of a plan', () => {
  it('of a completed rebalance, not of a stopped one, makes added copies count for durable writes', async () => {
    const { server, orchestrator, change, untilEnded } = await cluster('a b', 'a b');
    const placedReplicas = async () =>
      (await server.get<BucketsState>(bucketsKey))?.value.byUuid['first']?.placedReplicas;
    await update<BucketsState | null>(server, bucketsKey, null, (state) => {
      const { byUuid } = state ?? assert.fail('no buckets');
      const first = withReplicaNumber({ ...(byUuid['first'] as StoredBucket), replicaNumber: 0 }, 1);
      return { ...(state as BucketsState), byUuid: { ...byUuid, first } };
    });
    await update<BucketMap | null>(server, mapKey('first'), null, () => mapOnOneNode('a'));
    await orchestrator(1);
    const stopping = { reason: null };
    await change({ balance: plan({ id: 'stopped', nodes: ['a', 'b'], stopping }) });
    await untilEnded();
    assert.equal(await placedReplicas(), 0);
    await change({ balance: plan({ id: 'completed', nodes: ['a', 'b'] }) });
    await untilEnded();
    assert.equal(await placedReplicas(), undefined);
  });

  it('is reached on the only node that is left, in whichever term the plan was', async () => {
    const { orchestrator, change, untilEnded, state } = await cluster('a', 'a');
    await orchestrator(0);
    await change({ balance: plan({ nodes: ['a'], ejected: ['b'], term: 5 }) });
    await untilEnded();
    assert.equal((await state()).lastBalance?.outcome, 'completed');
  });

  it('is reported once although the answer to its write was lost', async () => {
    const { clock, orchestrator, change, untilEnded, ended } = await cluster('a b', 'a b');
    const { store } = await orchestrator(1);
    const put = store.put.bind(store);
    let isLost = false;
    store.put = async (key, value, ...rest) => {
      const revision = await put(key, value, ...rest);
      if (isLost || key !== clusterKey || (value as ClusterState).balance !== undefined) return revision;
      isLost = true;
      throw new Error('the answer was lost');
    };
    await change({ balance: plan({ nodes: ['a', 'b'] }) });
    await untilEnded();
    await clock.run(10_000);
    assert.deepEqual([isLost, ended.map(({ outcome }) => outcome)], [true, ['completed']]);
  });

  it('is reported although this node saw it only with the next plan', async () => {
    const { server, orchestrator, change, untilEnded, ended } = await cluster('a b', 'a b');
    const isBehind = behind(server);
    const { store } = await orchestrator(1);
    const [get, put] = [store.get.bind(store), store.put.bind(store)];
    let before: Entry | null = null;
    store.get = async <T>(key: string) =>
      isBehind.now && key === clusterKey ? (before as Entry<T>) : get<T>(key);
    store.put = async (key, value, ...rest) => {
      if (isBehind.now) return isBehind.end();
      if (before !== null || key !== clusterKey || (value as ClusterState).balance !== undefined)
        return put(key, value, ...rest);
      before = await server.get(clusterKey);
      isBehind.now = true;
      await put(key, value, ...rest);
      await change({ balance: plan({ id: 'next', nodes: ['a', 'b'] }) });
      throw new Error('the answer was lost');
    };
    await change({ balance: plan({ id: 'first', nodes: ['a', 'b'] }) });
    await untilEnded();
    assert.deepEqual(
      ended.map(({ id }) => id),
      ['first', 'next'],
    );
  });

  it('is reported by the next orchestrator if the one that wrote it dies at once', async () => {
    const { clock, server, orchestrator, change, untilEnded, ended, state } = await cluster('a b', 'a b');
    const first = await orchestrator(1);
    const put = first.store.put.bind(first.store);
    first.store.put = async (key, value, ...rest) => {
      if (key !== clusterKey || (value as ClusterState).balance !== undefined)
        return put(key, value, ...rest);
      first.rebalancer.stop();
      await server.put(key, value, ...rest);
      return new Promise(() => {});
    };
    await change({ balance: plan({ nodes: ['a', 'b'], automatic: 'It is silent.', failing: ['b'] }) });
    await untilEnded();
    first.lease.term = null;
    assert.deepEqual(ended, []);
    await orchestrator(2);
    await clock.run(4_900);
    assert.deepEqual(ended, [], 'the earlier orchestrator may be about to report it');
    await clock.run(1_000);
    const { lastBalance, unreported } = await state();
    assert.deepEqual(ended, [{ ...lastBalance, term: 1, automatic: 'It is silent.', failing: ['b'] }]);
    assert.equal(unreported, undefined);
  });

  it('is reported by a node that stays at once if the plan removes the node that carried it out', async () => {
    const { clock, down, orchestrator, change, untilEnded, ended, state } = await cluster('a b c', 'a b c');
    await orchestrator(1, 'a');
    for (const other of ['b', 'c']) await orchestrator(null, other);
    await change({ balance: plan({ nodes: ['b', 'c'], ejected: ['a'] }) });
    while (!(await state()).balance?.hasMoved) await clock.run(100);
    down.add('b');
    await untilEnded();
    await clock.run(100);
    assert.deepEqual(
      ended.map(({ outcome }) => outcome),
      ['completed'],
    );
    await orchestrator(2, 'b');
    await clock.run(20_000);
    assert.equal(ended.length, 1);
  });

  it('is reported by the next orchestrator if the node that was to report it has died', async () => {
    const { clock, orchestrator, change, untilEnded, ended } = await cluster('a b c', 'a b c');
    await orchestrator(1, 'a');
    await change({ balance: plan({ nodes: ['b', 'c'], ejected: ['a'] }) });
    await untilEnded();
    await clock.run(1_000);
    assert.deepEqual(ended, []);
    await orchestrator(2, 'c');
    await clock.run(6_000);
    assert.deepEqual(
      ended.map(({ outcome }) => outcome),
      ['completed'],
    );
  });

  it('is reported although this node saw it only when the next plan had ended, too', async () => {
    const { clock, server, orchestrator, change, ended, state } = await cluster('a b', 'a b');
    const isBehind = behind(server);
    const { store } = await orchestrator(1);
    const put = store.put.bind(store);
    store.put = async (key, value, ...rest) => {
      if (isBehind.now || key !== clusterKey || (value as ClusterState).balance !== undefined)
        return put(key, value, ...rest);
      isBehind.now = true;
      await put(key, value, ...rest);
      const { lastBalance = assert.fail('no plan has ended') } = await state();
      await change({ lastBalance: { ...lastBalance, id: 'next' } });
      isBehind.end();
      throw new Error('the answer was lost');
    };
    await change({ balance: plan({ id: 'first', nodes: ['a', 'b'] }) });
    for (let seconds = 0; ended.length === 0 && seconds < 100; seconds++) await clock.run(1_000);
    assert.deepEqual(
      ended.map(({ id }) => id),
      ['first'],
    );
  });

  it('waits for shards that are being handed over, also on a node that stopped another plan before', async () => {
    const { clock, orchestrator, change, untilEnded, map, state } = await cluster('a b c', 'a b');
    const stop = async () => {
      const { balance } = await state();
      assert.ok(balance);
      await change({ balance: { ...balance, stopping: { reason: null } } });
    };
    const first = await orchestrator(1);
    await change({ balance: plan({ id: 'first', nodes: ['a', 'b', 'c'] }) });
    await clock.run(1_000);
    await stop();
    await untilEnded();
    first.lease.term = null;
    await clock.run(20_000);
    const second = await orchestrator(2);
    await change({ balance: plan({ id: 'second', nodes: ['b', 'c'], ejected: ['a'] }) });
    await clock.run(1_500);
    second.lease.term = null;
    await stop();
    first.lease.term = 3;
    first.rebalancer.wake();
    await untilEnded();
    for (const uuid of buckets)
      assert.ok((await map(uuid)).shards.every(({ incoming, confirmed }) => !incoming && confirmed));
  });

  it('leaves the cluster unbalanced if a node moved to another server group meanwhile', async () => {
    const { clock, server, orchestrator, change, untilEnded, state } = await cluster('a b c', 'a b');
    const groups = new ServerGroupsService({ cluster: new ClusterStore(server, 'a'), random: realRandom });
    await groups.create({ name: 'Group 2' });
    const move = async (names: readonly string[]) => {
      const nodesOf = (list: readonly string[]) => list.map((name) => ({ otpNode: `ns_1@${name}` }));
      const [first, second] = (await state()).groups ?? [];
      const uri = (uuid: string | undefined) => `/pools/default/serverGroups/${uuid}`;
      const others = ['a', 'b', 'c'].filter((name) => !names.includes(name));
      await groups.move(undefined, {
        groups: [
          { uri: uri(first?.uuid), nodes: nodesOf(others) },
          { uri: uri(second?.uuid), nodes: nodesOf(names) },
        ],
      });
    };
    await move(['c']);
    assert.equal((await state()).needsRebalance, true);
    await orchestrator(1);
    await change({ balance: plan({ id: 'first', nodes: ['a', 'b', 'c'] }) });
    await clock.run(1_000);
    await move(['b']);
    await untilEnded();
    const outcome = async () => [(await state()).lastBalance?.outcome, (await state()).needsRebalance];
    assert.deepEqual(await outcome(), ['completed', true]);
    await change({ balance: plan({ id: 'second', nodes: ['a', 'b', 'c'] }) });
    await untilEnded();
    assert.deepEqual(await outcome(), ['completed', undefined]);
  });

  it('has a reason where a node is failed over gracefully that alone has the shards of a new bucket', async () => {
    const { server, orchestrator, change, untilEnded, state, map } = await cluster('a b c', 'a b c');
    const entry = (await server.get<BucketMap>(mapKey('first'))) ?? assert.fail('no map');
    await server.put(mapKey('first'), mapOnOneNode('a'), entry.revision);
    await orchestrator(1);
    await change({ balance: plan({ kind: 'gracefulFailover', nodes: ['b', 'c'], failing: ['a'] }) });
    await untilEnded();
    const { lastBalance, nodes } = await state();
    assert.deepEqual([lastBalance?.outcome, nodes[0]?.membership], ['failed', 'active']);
    assert.match(lastBalance?.reason ?? '', /the bucket "first" .* only on nodes that are to fail over/);
    assert.ok((await map('first')).shards.every(({ chain }) => chain[0] === 0));
  });

  it('of an automatic failover keeps a shard that is only on the failed node', async () => {
    const { down, server, orchestrator, change, untilEnded, state } = await cluster('a b c', 'a b c');
    const entry = (await server.get<BucketMap>(mapKey('first'))) ?? assert.fail('no map');
    await server.put(mapKey('first'), mapOnOneNode('a'), entry.revision);
    down.add('a');
    await orchestrator(1);
    await change({
      balance: plan({ kind: 'failover', nodes: ['b', 'c'], failing: ['a'], automatic: 'It is silent.' }),
    });
    await untilEnded();
    const { lastBalance, nodes } = await state();
    assert.deepEqual([lastBalance?.outcome, nodes[0]?.membership], ['failed', 'active']);
    assert.equal(lastBalance?.reason, 'Would lose vbuckets in the following buckets: ["first"]');
    assert.deepEqual((await server.get<BucketMap>(mapKey('first')))?.value, mapOnOneNode('a'));
  });
});

describe('a retry of a rebalance', () => {
  it('is cancelled when the settings no longer want it', async () => {
    const settings = { enabled: true, afterTimePeriod: 60, maxAttempts: 2 };
    const { clock, retrySettings, state, ended } = await failedRebalance(settings);
    assert.notEqual((await state()).retry, undefined);
    retrySettings.enabled = false;
    await clock.run(100_000);
    assert.deepEqual([ended.length, (await state()).retry], [1, undefined]);
  });

  it('does not eject the node that has become the founder since', async () => {
    const { clock, orchestrator, change, retrySettings, state, ended } = await cluster('a b c', 'a b');
    retrySettings.enabled = true;
    await orchestrator(1);
    const retry = { id: 'old', nodes: ['a', 'b'], ejected: ['c'], dueMs: 0, attemptsLeft: 1 };
    await change({ founder: 'c', retry });
    await clock.run(10_000);
    assert.deepEqual([ended.length, (await state()).retry], [0, undefined]);
  });
});
