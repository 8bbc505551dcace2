// Carries out the rebalance that key `cluster` holds, on the node that is the orchestrator: bucket by bucket towards a balanced map over
// the nodes that stay, then the others leave the cluster. Each round reads the configuration and takes the steps that are due, so that
// after a crash, or on another node, the next round continues.
import { assert } from '#base/assert.ts';
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { type ConfigStore, type Entry, update } from '#replog/config-store.ts';
import {
  type BucketMap,
  type BucketsState,
  bucketsKey,
  type ClusterState,
  clusterKey,
  mapKey,
  type PlanEnd,
  type RebalanceOutcome,
  type RebalancePlan,
  type ShardPlacement,
  type StoredBucket,
} from '../config/cluster-state.ts';
import type { NodeIdentity } from '../config/node-identity.ts';
import { withPlacedCopies } from '../config/placed-copies.ts';
import { type ChangeNotifier, until } from '../config/until.ts';
import { hasLostShards, withoutLostShards } from '../topology/balanced-map.ts';
import { planMap } from '../topology/plan-map.ts';
import { losesVbuckets } from './auto-failover-rules.ts';
import { EndReports, withEnd } from './end-reports.ts';
import { withoutPlan } from './ended-plan.ts';
import { type CopyStates, failoverMap, withoutNodes } from './failover-map.ts';
import { dataNodes, endsDataNode, isNeeded, returningNodes } from './members.ts';
import { aloneTerm } from './orchestrator-lease.ts';
import { reportedPlan } from './rebalance-report.ts';
import { type RetrySettings, withRetry } from './rebalance-retry.ts';
import { withReturned } from './returned-shards.ts';
import {
  advance,
  endMoves,
  hasPlaces,
  isComplete,
  startMoves,
  stopMoves,
  waitsOnlyFor,
} from './shard-moves.ts';

/** The longest pause between rounds; a change of the configuration ends it. */
const roundMs = 250;
/** The shortest pause: changes that data services make together are one round. */
const changesMs = 10;
/** A node that does not answer for this long ends the rebalance. */
const goneAfterMs = 20_000;
/** A stopped rebalance waits this long for shards that are being handed over. */
const stopTimeoutMs = 10_000;
/** How long a node that leaves stays after its shards have moved: longer than the 2.5 seconds after which SDKs ask for the map again. */
const clientsMs = 3_000;

export interface RebalancerDeps {
  store: ConfigStore;
  identity: Pick<NodeIdentity, 'nodeId'>;
  /** The newest configuration that this node has seen. */
  view: ChangeNotifier & { readonly cluster: ClusterState; latestRevision(): number };
  /** The term in which this node is the orchestrator; null: it is not. */
  term: () => number | null;
  isDown: (node: string) => boolean;
  /** The states of the copies that are left when nodes fail; omitted: nothing is known of them. */
  copies?: (bucketUuid: string, map: BucketMap, failed: readonly string[]) => Promise<CopyStates>;
  movesPerNode: () => number;
  retries: () => RetrySettings;
  /** Called before an automatic failover ends with success; called again after a crash or a failed write. */
  completing?: (plan: RebalancePlan) => Promise<void>;
  /** How many nodes were failed over automatically; omitted: none. */
  failovers?: () => Promise<number>;
  /** Called after the end of each plan. */
  ended: (end: PlanEnd) => void;
  clock: Clock;
  log: Log;
}

export class Rebalancer {
  readonly #deps: RebalancerDeps;
  readonly #reports: EndReports;
  #watch: { stop(): void } | null = null;
  #timer: Timer | null = null;
  #isRunning = false;
  #isStopped = false;
  /** Since when this orchestrator knows that the plan is to stop. */
  #stopping: { readonly plan: string; readonly sinceMs: number } | null = null;
  /** When all shards were on the nodes that stay. */
  #moved: { readonly plan: string; readonly ms: number } | null = null;
  /** Since when nodes do not answer, as seen by the rounds of this plan. */
  #down: { readonly plan: string; readonly sinceMs: Map<string, number> } = { plan: '', sinceMs: new Map() };
  /**
   * The nodes that a failover has promoted, by shard. A promoted node that has restarted may have lost documents: it stops, and another member of
   * the in-sync set is promoted, which may be a failed node. The failover must not promote the restarted node once more.
   */
  #promoted: { readonly plan: string; readonly shards: Set<string> } = { plan: '', shards: new Set() };

  constructor(deps: RebalancerDeps) {
    this.#deps = deps;
    this.#reports = new EndReports(deps);
  }

  start(): void {
    this.#watch = this.#deps.view.onChange(() => this.wake());
    this.wake();
  }

  stop(): void {
    this.#isStopped = true;
    this.#watch?.stop();
    this.#timer?.cancel();
  }

  /** Starts the rebalance that the configuration requests, or reports how one ended, unless this runs. */
  wake(): void {
    const isDue = this.#deps.view.cluster.balance !== undefined && this.#deps.term() !== null;
    if (!(isDue || this.#reports.areDue) || this.#isRunning || this.#isStopped) return;
    this.#isRunning = true;
    this.#timer = this.#deps.clock.after(0, () => void this.#run());
  }

  async #run(): Promise<void> {
    const { clock, log, term, view } = this.#deps;
    try {
      for (let seen = view.latestRevision(); ; ) {
        if (this.#isStopped) break;
        await this.#reports.report();
        if (term() === null) break;
        const beganMs = clock.monotonicMs();
        if (!(await this.#round())) break;
        // At most half of the time is spent in rounds.
        const pauseMs = Math.min(Math.max(changesMs, clock.monotonicMs() - beganMs), roundMs);
        await clock.sleep(pauseMs);
        await until(view, () => view.latestRevision() > seen, roundMs - pauseMs, clock);
        seen = view.latestRevision();
      }
    } catch (error) {
      log.warn('rebalance.round_failed', { reason: (error as Error).message });
      await clock.sleep(roundMs);
    }
    this.#isRunning = false;
    // A plan may have been written while this one ended. Where a later orchestrator carries it out, the round only reads it.
    if (!this.#isStopped) clock.after(roundMs, () => this.wake());
  }

  /** Takes the steps that are due; false: there is no rebalance that this node may carry out. */
  async #round(): Promise<boolean> {
    const cluster = (await this.#deps.store.get<ClusterState>(clusterKey))?.value;
    const plan = cluster?.balance;
    if (!cluster || !plan || !(await this.#isOwn(plan))) return false;
    if (this.#stopping?.plan !== plan.id && plan.stopping)
      this.#stopping = { plan: plan.id, sinceMs: this.#deps.clock.monotonicMs() };
    if (!plan.stopping && plan.kind !== 'failover') {
      const down = cluster.nodes.find(
        ({ uuid }) => isNeeded(cluster, plan, uuid) && this.#isGone(plan, uuid),
      );
      if (down !== undefined) {
        await this.#fail(plan, `Node ${down.otpNode} does not answer.`);
        return true;
      }
    }
    const found = await this.#maps();
    if (found === null) return true;
    for (const { entry, bucket } of found.maps) {
      if (!(await this.#moveShards(cluster, plan, bucket, entry))) return true;
    }
    if (await this.#awaitsClients(cluster, plan, found)) return true;
    return !(await this.#clearGoals(plan, found)) || !(await this.#end(plan));
  }

  /**
   * Whether clients may have a map that still names a leaving node, or statements may run on that node. An SDK cancels requests that are on
   * their way to a node when the map no longer names the node, or the node closes its connections.
   */
  async #awaitsClients(cluster: ClusterState, plan: RebalancePlan, { maps }: Maps): Promise<boolean> {
    if (plan.stopping || !endsDataNode(cluster, plan) || maps.length === 0) return false;
    if (!plan.hasMoved && !(await this.#changePlan(plan.id, (found) => ({ ...found, hasMoved: true }))))
      return true;
    const now = this.#deps.clock.monotonicMs();
    if (this.#moved?.plan !== plan.id) this.#moved = { plan: plan.id, ms: now };
    return now - this.#moved.ms < clientsMs;
  }

  /** Whether the node has not answered for `goneAfterMs`. Until then the moves wait: the node may restart, or its machine may be busy. */
  #isGone(plan: RebalancePlan, node: string): boolean {
    const now = this.#deps.clock.monotonicMs();
    if (this.#down.plan !== plan.id) this.#down = { plan: plan.id, sinceMs: new Map() };
    const { sinceMs } = this.#down;
    if (!this.#deps.isDown(node)) sinceMs.delete(node);
    else if (!sinceMs.has(node)) sinceMs.set(node, now);
    return now - (sinceMs.get(node) ?? now) >= goneAfterMs;
  }

  /** This orchestrator takes over the plan of an earlier one, and leaves that of a later one alone. The only node that is left takes over every plan. */
  async #isOwn(plan: RebalancePlan): Promise<boolean> {
    const term = this.#deps.term();
    if (term === null || (plan.term > term && term !== aloneTerm)) return false;
    if (plan.term !== term) await this.#changePlan(plan.id, (found) => ({ ...found, term }));
    return true;
  }

  /** Stops the plan; a later round ends it as failed. */
  async #fail(plan: RebalancePlan, reason: string): Promise<void> {
    await this.#changePlan(plan.id, (found) => ({ ...found, stopping: found.stopping ?? { reason } }));
  }

  /** Null when a stale read shows a bucket without its map. */
  async #maps(): Promise<Maps | null> {
    const { store } = this.#deps;
    const buckets = await store.get<BucketsState>(bucketsKey);
    if (buckets === null) return null;
    const mapped = Object.values(buckets.value.byUuid).filter(
      ({ type, state }) => type !== 'cache' && state === 'ready',
    );
    const entries = await Promise.all(mapped.map(({ uuid }) => store.get<BucketMap>(mapKey(uuid))));
    const maps = mapped.flatMap((bucket, index) =>
      entries[index] ? [{ bucket, entry: entries[index] }] : [],
    );
    return maps.length === mapped.length ? { buckets, maps } : null;
  }

  /** Takes the next steps of the bucket; true: all its shards are on their planned nodes. */
  async #moveShards(
    cluster: ClusterState,
    plan: RebalancePlan,
    bucket: StoredBucket,
    entry: Entry<BucketMap>,
  ): Promise<boolean> {
    if (plan.kind === 'failover') return this.#failOver(plan, bucket, entry);
    if (cluster.nodes.length === 1) return this.#beginLostShards(entry);
    const map = this.#withGoals(cluster, plan, bucket, entry.value);
    const isStart = map.forward?.plan === plan.id && entry.value.forward?.plan !== plan.id;
    if (isStart && !hasPlaces(map)) {
      await this.#fail(plan, noPlacesReason(bucket));
      return false;
    }
    if (isStart && !(await this.#changePlan(plan.id, (found) => found))) return false;
    const isOver = plan.stopping !== undefined && this.#isOverdue();
    if (isOver || (map === entry.value && isComplete(map))) return true;
    const next = advance(map, this.#deps.movesPerNode()) ?? map;
    if (next !== entry.value) await this.#putMap(entry, next);
    // A failover waits for the end of the rebalance that it stops.
    else if (plan.stopping) return waitsOnlyFor(map, this.#deps.isDown);
    return false;
  }

  /** There is no other node to move shards to. Returns whether the map has all shards. */
  async #beginLostShards(entry: Entry<BucketMap>): Promise<boolean> {
    if (!hasLostShards(entry.value)) return true;
    await this.#putMap(entry, withoutLostShards(entry.value, this.#deps.identity.nodeId));
    return false;
  }

  /** Removes the failed nodes from the map. Returns whether the map is already without them. */
  async #failOver(plan: RebalancePlan, bucket: StoredBucket, entry: Entry<BucketMap>): Promise<boolean> {
    const { failing = [], allowUnsafe = false } = plan;
    const positions = failing.map((id) => entry.value.nodes.indexOf(id));
    const hasFailed = ({ chain, incoming = [] }: ShardPlacement): boolean =>
      [...chain, ...incoming].some((node) => node >= 0 && positions.includes(node));
    if (plan.stopping || !entry.value.shards.some(hasFailed)) return true;
    if (!(await this.#changePlan(plan.id, (found) => found))) return false;
    const copies = await this.#deps.copies?.(bucket.uuid, entry.value, failing);
    if (this.#promoted.plan !== plan.id) this.#promoted = { plan: plan.id, shards: new Set() };
    const promoted = this.#promoted.shards;
    const promotionOf = (node: string, shard: number): string => `${bucket.uuid} ${shard} ${node}`;
    const { map, unsafe, lost } = failoverMap(entry.value, {
      failed: failing,
      ...copies,
      allowUnsafe,
      lacks: (node, shard) => promoted.has(promotionOf(node, shard)),
    });
    // The maps that showed that nothing would be lost may have been older than this one.
    if (lost.length > 0 && plan.automatic !== undefined) await this.#fail(plan, losesVbuckets([bucket.name]));
    else if (unsafe.length > 0 && !allowUnsafe) await this.#fail(plan, unsafeReason(bucket));
    else if (await this.#putMap(entry, map))
      for (const [shard, { chain, epoch }] of map.shards.entries())
        if (epoch !== entry.value.shards[shard]?.epoch)
          promoted.add(promotionOf(map.nodes[chain[0] ?? -1] ?? '', shard));
    return false;
  }

  /** The map with the goals of this plan; the same object if the map has them. */
  #withGoals(
    cluster: ClusterState,
    plan: RebalancePlan,
    { replicaNumber }: StoredBucket,
    map: BucketMap,
  ): BucketMap {
    if (plan.stopping) {
      if (map.forward === undefined || map.forward.plan === stoppedPlan(plan)) return map;
      const stopped = stopMoves(map);
      return { ...stopped, forward: { plan: stoppedPlan(plan), chains: stopped.forward?.chains ?? [] } };
    }
    if (map.forward?.plan === plan.id) return map;
    if (plan.failing) return startMoves(map, withoutNodes(map, plan.failing), plan.id);
    const nodes = dataNodes(cluster).filter(({ id }) => plan.nodes.includes(id));
    const current = withReturned(map, returningNodes(cluster, plan));
    return startMoves(current, planMap({ nodes, replicas: replicaNumber, current }), plan.id);
  }

  #isOverdue(): boolean {
    return this.#deps.clock.monotonicMs() - (this.#stopping?.sinceMs ?? 0) >= stopTimeoutMs;
  }

  /**
   * Removes the goals from the maps. Writes each map and the list of buckets, because reads may be stale and only a write proves that
   * a value was not changed; false: a value was changed. The id in the list of buckets stops buckets that are being created on the nodes of before.
   */
  async #clearGoals({ id }: RebalancePlan, { buckets, maps }: Maps): Promise<boolean> {
    const { store, term } = this.#deps;
    for (const { entry } of maps) {
      if (term() === null) return false;
      if ((await store.put(entry.key, endMoves(entry.value), entry.revision)) === null) return false;
    }
    const ended = { ...withPlacedCopies(buckets.value, maps), endedPlan: id };
    return (await store.put(bucketsKey, ended, buckets.revision)) !== null;
  }

  /** If another write came first, the next round reads it. */
  async #putMap({ key, revision }: Entry<BucketMap>, map: BucketMap): Promise<boolean> {
    return this.#deps.term() !== null && (await this.#deps.store.put(key, map, revision)) !== null;
  }

  async #end(plan: RebalancePlan): Promise<boolean> {
    const { store, clock, term } = this.#deps;
    const outcome: RebalanceOutcome = {
      id: plan.id,
      kind: plan.kind,
      endedMs: clock.wallMs(),
      outcome:
        plan.stopping === undefined ? 'completed' : plan.stopping.reason === null ? 'stopped' : 'failed',
      ...(plan.stopping?.reason && { reason: plan.stopping.reason }),
    };
    if (outcome.outcome === 'completed' && !(await this.#announceEnd(plan))) return false;
    const failovers = await this.#failoversBefore(outcome);
    const hasLeft = outcome.outcome === 'completed' && plan.ejected.includes(this.#deps.identity.nodeId);
    const reporter = hasLeft ? plan.nodes.find((node) => !this.#deps.isDown(node)) : undefined;
    let end = null as PlanEnd | null;
    await update<ClusterState | null>(store, clusterKey, null, (cluster) => {
      assert(cluster, 'the cluster key is written at start');
      end = null;
      if (cluster.balance?.id !== plan.id || cluster.balance.term !== term()) return cluster;
      const reported = { ...outcome, ...reportedPlan(cluster, plan) };
      const ended = withRetry(withoutPlan(cluster, reported), plan, outcome, this.#deps.retries());
      const ofPlan = { term: cluster.balance.term, ...failoverOf(plan), ...failovers };
      end = { ...reported, ...ofPlan, ...(reporter !== undefined && { reporter }) };
      return withEnd(ended, end);
    });
    // A node that has just left cannot write that it has reported the end.
    if (end !== null && !hasLeft) await this.#reports.reportOwn(end);
    return end !== null;
  }

  /** Read before the plan ends, because no failover is counted while a rebalance runs. */
  async #failoversBefore({ kind, outcome }: RebalanceOutcome): Promise<Pick<PlanEnd, 'failoversBefore'>> {
    const { failovers } = this.#deps;
    const isNeeded = kind === 'rebalance' && outcome === 'completed' && failovers !== undefined;
    return isNeeded ? { failoversBefore: await failovers() } : {};
  }

  /** False if the plan has ended already: then its nodes are counted. */
  async #announceEnd(plan: RebalancePlan): Promise<boolean> {
    if (plan.automatic === undefined) return true;
    const isRunning = await this.#changePlan(plan.id, (found) => found);
    if (isRunning) await this.#deps.completing?.(plan);
    return isRunning;
  }

  /** False if the rebalance has ended. A write of the unchanged plan proves that it still runs, which a read cannot, since it may be stale. */
  async #changePlan(id: string, change: (plan: RebalancePlan) => RebalancePlan): Promise<boolean> {
    let isFound = false;
    await update<ClusterState | null>(this.#deps.store, clusterKey, null, (cluster) => {
      assert(cluster, 'the cluster key is written at start');
      isFound = cluster.balance?.id === id;
      return cluster.balance && isFound ? { ...cluster, balance: change(cluster.balance) } : cluster;
    });
    return isFound;
  }
}

interface Maps {
  readonly buckets: Entry<BucketsState>;
  readonly maps: readonly { readonly bucket: StoredBucket; readonly entry: Entry<BucketMap> }[];
}

const failoverOf = ({ automatic, failing }: RebalancePlan): Pick<PlanEnd, 'automatic' | 'failing'> => ({
  ...(automatic !== undefined && { automatic }),
  ...(failing !== undefined && { failing }),
});

const stoppedPlan = ({ id }: RebalancePlan): string => `${id} stopped`;

const noPlacesReason = ({ name }: StoredBucket): string =>
  `Shards of the bucket "${name}" are only on nodes that are to fail over.`;

const unsafeReason = ({ name }: StoredBucket): string =>
  `Shards of the bucket "${name}" have no other copy that is sure to hold every durable write.`;
