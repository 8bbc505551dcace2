import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { update } from '#replog/config-store.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aCluster, nodeNamed } from '../../../test/support/cluster.ts';
import { planned, reacted, stable } from '../../../test/support/moving-shards.ts';
import { randomFrom } from '../../../test/support/random.ts';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import { SimulatedNet } from '../../../test/support/simulated-net.ts';
import {
  type AutoFailoverSettings,
  FailoverSettingsService,
} from '../auto-failover/auto-failover.service.ts';
import { ClusterStore } from '../config/cluster.store.ts';
import {
  type BucketMap,
  bucketsKey,
  type ClusterState,
  clusterKey,
  mapKey,
  mapPrefix,
} from '../config/cluster-state.ts';
import { ClusterView } from '../config/cluster-view.ts';
import { SettingsStore } from '../config/settings.store.ts';
import { AutoFailover } from './auto-failover.ts';
import { type Heartbeat, Heartbeats } from './heartbeats.ts';
import { retryDefaults } from './rebalance-retry.ts';
import { Rebalancer } from './rebalancer.ts';

/** A cluster whose data services only follow the maps; its first node is the orchestrator. */
async function cluster(names: string, settings: Partial<AutoFailoverSettings> = {}, replicas = 1) {
  /** Called when a plan has ended, before anything else is done about its end. */
  const onEnd = { call: () => {} };
  const clock = new SimulatedClock();
  const random = randomFrom(7);
  const store = new MemoryConfigStore();
  const ids = names.split(' ');
  await store.put(clusterKey, aCluster({ nodes: ids.map((id) => nodeNamed(id)) }), 0);
  const record = { uuid: 'b', name: 'b', type: 'native', state: 'ready', replicaNumber: replicas };
  await store.put(bucketsKey, { memoryQuotaMb: 1024, byUuid: { b: record } }, 0);
  await store.put(mapKey('b'), stable(planned(names, replicas)), 0);
  const failoverSettings = new FailoverSettingsService(new SettingsStore(store));
  await failoverSettings.changeAutoFailover({ timeout: 5, ...settings });
  const view = new ClusterView(store, ids[0] as string);
  await view.start();
  const net = new SimulatedNet<Heartbeat>(clock, random);
  const disk = new Map<string, number>();
  const heartbeatsOf = (nodeId: string): Heartbeats => {
    const heartbeats = new Heartbeats({
      nodeId,
      clock,
      nodes: () => ids,
      diskFailsMs: () => (disk.has(nodeId) ? clock.monotonicMs() - (disk.get(nodeId) ?? 0) : 0),
      send: (to, message) => net.send(nodeId, to, message),
    });
    net.attach(nodeId, (from, message) => heartbeats.received(from, message));
    heartbeats.start();
    return heartbeats;
  };
  const all = new Map(ids.map((id) => [id, heartbeatsOf(id)]));
  const heartbeats = all.get(ids[0] as string) ?? assert.fail('no node');
  const reports: string[] = [];
  const lease = { term: 1 as number | null };
  const identity = { nodeId: ids[0] as string };
  const common = { identity, store, view, clock, random: realRandom, log: silentLog, term: () => lease.term };
  const rebalancer = new Rebalancer({
    ...common,
    isDown: (node) => heartbeats.isDown(node),
    movesPerNode: () => 4,
    retries: () => retryDefaults,
    completing: (plan) => autoFailover.completing(plan),
    failovers: () => failoverSettings.totalFailovers(),
    ended: (end) => {
      onEnd.call();
      autoFailover.ended(end);
    },
  });
  const autoFailover = new AutoFailover({
    ...common,
    heartbeats,
    settings: failoverSettings,
    cluster: new ClusterStore(store, ids[0] as string),
    report: ({ kind, text }) => reports.push(`${kind}: ${text}`),
    planned: () => rebalancer.wake(),
  });
  rebalancer.start();
  autoFailover.start();
  const data = async (): Promise<void> => {
    for (const { key, value, revision } of await store.list<BucketMap>(mapPrefix)) {
      const next = reacted(value, random, 50);
      if (!next.shards.every((shard, index) => shard === value.shards[index]))
        await store.put(key, next, revision);
    }
    clock.after(500, () => void data());
  };
  clock.after(100, () => void data());
  const kill = (id: string): void => {
    all.get(id)?.stop();
    net.detach(id);
  };
  const revive = (id: string): void => {
    net.attach(id, (from, message) => all.get(id)?.received(from, message));
    all.get(id)?.start();
  };
  const state = async (): Promise<ClusterState> =>
    ((await store.get<ClusterState>(clusterKey)) ?? assert.fail('no cluster')).value;
  const failed = async (): Promise<string> =>
    (await state()).nodes
      .filter(({ membership }) => membership === 'inactiveFailed')
      .map(({ uuid }) => uuid)
      .join(' ');
  const change = (changes: Partial<ClusterState>) =>
    update<ClusterState>(store, clusterKey, aCluster(), (before) => ({ ...before, ...changes }));
  const count = async (): Promise<number> => (await failoverSettings.autoFailover()).count;
  await clock.run(10_000);
  return { clock, kill, revive, disk, lease, reports, failed, change, count, failoverSettings, view, onEnd };
}

const automatically = (id: string, reason = 'All monitors report node is unhealthy.'): string =>
  `auto_failover_node: Node ('ns_1@${id}') was automatically failed over. Reason: ${reason}`;

describe('automatic failover', () => {
  it('fails a dead node over after the timeout, counts it and reports it once', async () => {
    const { clock, kill, failed, reports, count, view } = await cluster('a b c');
    kill('c');
    await clock.run(3_900);
    assert.equal(await failed(), '', 'the timeout has not passed');
    await clock.run(2_100);
    assert.equal(await failed(), 'c');
    await clock.run(30_000);
    assert.deepEqual([reports, await count()], [[automatically('c')], 1]);
    const map = view.map('b') ?? assert.fail('no map');
    const position = map.nodes.indexOf('c');
    assert.ok(map.shards.every(({ chain }) => !chain.includes(position)));
  });

  it('waits for a recovered node from the moment when it is active again', async () => {
    const { clock, kill, failed, change, view } = await cluster('a b c', { maxCount: 3 });
    kill('c');
    await clock.run(30_000);
    assert.equal(await failed(), 'c');
    await change({ nodes: view.cluster.nodes.map((node) => ({ ...node, membership: 'active' })) });
    await clock.run(4_000);
    assert.equal(await failed(), '', 'the recovered node was failed over before its heartbeats could arrive');
    await clock.run(4_000);
    assert.equal(await failed(), 'c');
  });

  it('does nothing while it is disabled, on a node that is not the orchestrator, and for a node that is recovered', async () => {
    for (const [settings, term] of [
      [{ enabled: false }, 1],
      [{}, null],
    ] as const) {
      const { clock, kill, failed, reports, lease } = await cluster('a b c', settings);
      lease.term = term;
      kill('c');
      await clock.run(30_000);
      assert.deepEqual([await failed(), reports], ['', []]);
    }
    const { clock, kill, revive, failed, reports } = await cluster('a b c', { timeout: 20 });
    for (let round = 0; round < 3; round++) {
      kill('c');
      await clock.run(15_000);
      revive('c');
      await clock.run(5_000);
    }
    assert.deepEqual([await failed(), reports], ['', []]);
  });

  it('stops at the maximum until the count is reset', async () => {
    const { clock, kill, failed, reports, failoverSettings } = await cluster('a b c d e', { maxCount: 1 }, 2);
    kill('e');
    await clock.run(8_000);
    kill('d');
    await clock.run(30_000);
    assert.equal(await failed(), 'e');
    const maximum =
      "auto_failover_maximum_reached: Could not auto-failover more nodes (['ns_1@d']). Maximum number of auto-failover nodes (1) has been reached.";
    assert.deepEqual(reports, [automatically('e'), maximum]);
    await failoverSettings.changeAutoFailover({ count: 0 });
    await clock.run(8_000);
    assert.equal(await failed(), 'd e');
  });

  it('has counted a failed node by the time its failover has ended, and counts it once', async () => {
    const { clock, kill, failed, count, onEnd, failoverSettings } = await cluster('a b c d');
    let atEnd: Promise<number> | undefined;
    onEnd.call = () => {
      atEnd = count();
      throw new Error('The orchestrator crashed.');
    };
    kill('d');
    await clock.run(30_000);
    assert.deepEqual([await failed(), await atEnd, await count()], ['d', 1, 1]);
    await failoverSettings.countFailedOver({ plan: 'next', nodes: 2 });
    await failoverSettings.countFailedOver({ plan: 'next', nodes: 2 });
    assert.equal(await count(), 3);
  });

  it('names nodes in late reports that have left the cluster since', async () => {
    const { clock, reports, change } = await cluster('a b c');
    const end = {
      kind: 'failover',
      outcome: 'completed',
      endedMs: 0,
      term: 0,
      automatic: 'It is silent.',
    } as const;
    const named = { kept: ['ns_1@a'], ejected: [], failed: ['ns_1@gone'] };
    const unreported = [
      { ...end, id: 'first', failing: ['gone'], named },
      { ...end, id: 'second', failing: ['gone'], named, outcome: 'stopped' as const },
      { ...end, id: 'of an older version', failing: ['c'] },
    ];
    await change({ unreported });
    await clock.run(10_000);
    assert.deepEqual(reports, [
      automatically('gone', 'It is silent.'),
      "auto_failover_node: Could not automatically fail over nodes (['ns_1@gone']). Stopped by user.",
      automatically('c', 'It is silent.'),
    ]);
  });

  it('keeps a reset that comes while a failed node is counted', async () => {
    const store = new MemoryConfigStore();
    const settings = new FailoverSettingsService(new SettingsStore(store));
    await settings.countFailedOver({ plan: 'first', nodes: 1 });
    const counted = settings.countFailedOver({ plan: 'second', nodes: 1 });
    await settings.changeAutoFailover({ count: 0 });
    await counted;
    assert.ok([0, 1].includes((await settings.autoFailover()).count), 'the reset was lost');
  });

  it('stays counted when it is counted while the end of a rebalance resets the count', async () => {
    const settings = new FailoverSettingsService(new SettingsStore(new MemoryConfigStore()));
    await settings.countFailedOver({ plan: 'first', nodes: 1 });
    const count = async () => (await settings.autoFailover()).count;
    const before = await settings.totalFailovers();
    const reset = settings.resetCount(before);
    await settings.countFailedOver({ plan: 'second', nodes: 1 });
    await reset;
    assert.equal(await count(), 1);
    await settings.changeAutoFailover({ count: 0 });
    await settings.countFailedOver({ plan: 'third', nodes: 1 });
    await settings.resetCount(before);
    assert.equal(await count(), 1, 'an end that was reported late reset the count of later failovers');
    await settings.resetCount(await settings.totalFailovers());
    assert.equal(await count(), 0);
  });

  it('fails several nodes over at once that failed together', async () => {
    const { clock, kill, failed, count, reports } = await cluster('a b c d e', { maxCount: 3 }, 2);
    kill('d');
    kill('e');
    await clock.run(7_000);
    assert.equal(await failed(), 'd e');
    assert.deepEqual([reports, await count()], [[automatically('d'), automatically('e')], 2]);
  });

  it('waits when the list of dead nodes changes shortly before the failover', async () => {
    const { clock, kill, failed, reports } = await cluster('a b c d e', { timeout: 10 });
    kill('e');
    await clock.run(5_500);
    kill('d');
    await clock.run(4_800);
    assert.equal(await failed(), '');
    const changed =
      "auto_failover_other_nodes_down: Could not auto-failover node ('ns_1@e'). The list of nodes being down has changed.";
    assert.deepEqual(reports, [changed]);
  });

  it('fails no node over where one of two nodes is left or the last copies would be lost, and reports the first once', async () => {
    const pair = await cluster('a b');
    pair.kill('b');
    await pair.clock.run(20_000);
    assert.equal(await pair.failed(), '');
    assert.match(pair.reports.join('\n'), /^auto_failover_node: .*Could not contact majority of servers/);
    assert.equal(pair.reports.length, 1, 'reported more than once');
    const three = await cluster('a b c', { maxCount: 2 });
    three.kill('c');
    await three.clock.run(8_000);
    assert.equal(await three.failed(), 'c');
    three.kill('b');
    await three.clock.run(20_000);
    assert.equal(await three.failed(), 'c');
  });

  it('aborts a rebalance if the settings allow it, and else waits for its end', async () => {
    const plan = { id: 'plan', kind: 'rebalance' as const, term: 1, ejected: [], startedMs: 0 };
    const stopped = { ...plan, nodes: ['a', 'b'], stopping: { reason: null } };
    const waiting = await cluster('a b c d', { canAbortRebalance: false });
    waiting.lease.term = 1;
    waiting.kill('d');
    // The plan of a later orchestrator, which this one does not change.
    await waiting.change({ balance: { ...stopped, term: 2 } });
    await waiting.clock.run(20_000);
    assert.equal(await waiting.failed(), '');
    assert.match(waiting.reports.join('\n'), /Rebalance is running\.$/);
    const aborting = await cluster('a b c d', { canAbortRebalance: true });
    aborting.kill('d');
    await aborting.change({ balance: { ...plan, nodes: ['a', 'b', 'c'] } });
    await aborting.clock.run(30_000);
    assert.equal(await aborting.failed(), 'd');
  });

  it('lets a failover end before it plans another failover', async () => {
    const { clock, kill, change, view, reports, failed } = await cluster('a b c d e', { maxCount: 3 }, 2);
    const running = { id: 'running', kind: 'failover' as const, nodes: ['a', 'b', 'c', 'd'], failing: ['e'] };
    kill('e');
    // The plan of a later orchestrator, which this one does not carry out.
    await change({ balance: { ...running, term: 2, ejected: [], startedMs: 0 } });
    await clock.run(20_000);
    assert.deepEqual([view.cluster.balance?.stopping, reports], [undefined, []]);
    await change({ balance: { ...running, term: 1, ejected: [], startedMs: 0 } });
    await clock.run(5_000);
    assert.deepEqual([view.cluster.lastBalance?.outcome, await failed()], ['completed', 'e']);
  });

  it('does not report that the maximum is reached while the failover of counted nodes ends', async () => {
    const { clock, kill, change, reports, failoverSettings } = await cluster('a b c');
    kill('c');
    await change({
      // The plan of a later orchestrator, which this one does not carry out.
      balance: {
        id: 'ending',
        kind: 'failover',
        term: 2,
        nodes: ['a', 'b'],
        failing: ['c'],
        ejected: [],
        startedMs: 0,
      },
    });
    await failoverSettings.countFailedOver({ plan: 'ending', nodes: 1 });
    await clock.run(20_000);
    assert.deepEqual(reports, []);
  });

  it('fails a node over whose disk fails for the configured time, if that is on', async () => {
    for (const [diskIssues, node] of [
      [false, 'c'],
      [true, 'c'],
      [true, 'a'],
    ] as const) {
      const { clock, disk, failed, reports } = await cluster('a b c', { diskIssues, diskPeriod: 30 });
      disk.set(node, clock.monotonicMs());
      await clock.run(28_000);
      assert.equal(await failed(), '');
      await clock.run(5_000);
      assert.equal(await failed(), diskIssues ? node : '');
      const reason = 'The disk of the node failed for the duration of the auto-failover threshold.';
      assert.deepEqual(reports, diskIssues ? [automatically(node, reason)] : []);
    }
  });

  it('does not fail over the founder whose disk fails, and reports why', async () => {
    const settings = { diskIssues: true, diskPeriod: 30 };
    const { clock, disk, change, failed, reports } = await cluster('a b c', settings);
    await change({ founder: 'c' });
    disk.set('c', clock.monotonicMs());
    await clock.run(60_000);
    assert.equal(await failed(), '');
    assert.deepEqual(reports, [
      "auto_failover_node: Could not automatically fail over nodes (['ns_1@c']). The node stores the configuration of the cluster.",
    ]);
  });

  it('reports each failover of a node, also while another one is down all the time', async () => {
    const settings = { diskIssues: true, diskPeriod: 5, timeout: 600, maxCount: 10 };
    const { clock, disk, kill, change, failed, reports, view } = await cluster('a b c d e', settings);
    kill('e');
    for (const count of [1, 2]) {
      disk.set('d', clock.monotonicMs());
      await clock.run(20_000);
      assert.equal(await failed(), 'd');
      assert.equal(reports.filter((text) => text.includes('automatically failed over')).length, count);
      disk.delete('d');
      await change({ nodes: view.cluster.nodes.map((node) => ({ ...node, membership: 'active' })) });
      await clock.run(5_000);
    }
  });
});
