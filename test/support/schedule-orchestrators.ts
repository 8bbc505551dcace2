// Two orchestrators of a simulated cluster, neither of which knows whether it is the only one: each carries out the plans that it finds, until it
// reads the term of the other.
import {
  type BucketMap,
  type ClusterState,
  clusterKey,
  mapKey,
  type RebalancePlan,
} from '#cluster/config/cluster-state.ts';
import { ClusterView } from '#cluster/config/cluster-view.ts';
import { CopyPositions, type NodePositions } from '#cluster/orchestrator/copy-positions.ts';
import { failoverPlan } from '#cluster/orchestrator/failover-plan.ts';
import { nodesCountedForFailover } from '#cluster/orchestrator/members.ts';
import { activated } from '#cluster/orchestrator/rebalance.service.ts';
import { retryDefaults } from '#cluster/orchestrator/rebalance-retry.ts';
import { Rebalancer } from '#cluster/orchestrator/rebalancer.ts';
import { startMoves } from '#cluster/orchestrator/shard-moves.ts';
import { silentLog } from '#ports/log.ts';
import { update } from '#replog/config-store.ts';
import type { FaultyConfigStore } from './faulty-config-store.ts';
import type { ScheduledCluster } from './scheduled-cluster.ts';

interface Orchestrator {
  readonly store: FaultyConfigStore;
  readonly rebalancer: Rebalancer;
  term: number;
}

export class ScheduleOrchestrators {
  readonly orchestrators: Orchestrator[] = [];
  private readonly cluster: ScheduledCluster;
  private plans = 0;
  /** Every map is planned as in the product: balanced, and with copies in different server groups. */
  usesPlanner = false;

  constructor(cluster: ScheduledCluster) {
    this.cluster = cluster;
  }

  async begin(): Promise<void> {
    for (const name of ['o1', 'o2']) await this.start(name);
  }

  private async start(name: string): Promise<void> {
    const { clock, names, running, server } = this.cluster;
    const store = this.cluster.storeOf(name);
    const view = new ClusterView(server, names[0] as string);
    await view.start();
    const positions = new CopyPositions({
      nodeId: name,
      bootId: name,
      clock,
      isDown: (node) => !running.has(node),
      data: { shardPositions: async () => [] },
      peers: {
        answer: () => {},
        ask: (node, _, body) => this.positionsOf(node, (body as { bucket: string }).bucket),
      },
    });
    const rebalancer: Rebalancer = new Rebalancer({
      store,
      view,
      clock,
      identity: { nodeId: name },
      log: silentLog,
      term: () => created.term,
      isDown: (node) => !running.has(node),
      copies: (bucket, map, failed) => positions.statesAfter(bucket, map, failed),
      movesPerNode: () => 4,
      retries: () => retryDefaults,
      ended: () => {},
    });
    const created = { store, rebalancer, term: this.orchestrators.length + 1 };
    this.orchestrators.push(created);
    rebalancer.start();
  }

  /** The positions that this node reports. Fails for a node that is not running. */
  private async positionsOf(name: string, bucket: string): Promise<NodePositions> {
    const process = this.cluster.running.get(name);
    if (process === undefined) throw new Error(`node ${name} does not run`);
    const { node } = process;
    return { boot: node.boot, shards: node.positions(bucket) };
  }

  /** One orchestrator takes the next term. The other one continues until it reads that. */
  takeOver(): void {
    const at = this.cluster.random(2);
    const terms = this.orchestrators.map(({ term }) => term);
    (this.orchestrators[at] as Orchestrator).term = Math.max(...terms) + 1;
    this.orchestrators[at]?.rebalancer.wake();
  }

  /** Plans to replace these nodes; the rules of failovers may refuse it. */
  async failOver(failing: readonly string[], kind: 'failover' | 'gracefulFailover', allowUnsafe = false) {
    const id = `plan ${++this.plans}`;
    await this.change((state) => {
      const active = state.nodes.filter(({ membership }) => membership === 'active');
      const nodes = active.filter(({ uuid }) => failing.includes(uuid));
      const isRefused =
        nodes.length < failing.length ||
        2 * nodes.length >= active.length ||
        nodesCountedForFailover(active, nodes).length <= 2 ||
        (kind === 'gracefulFailover' && this.losesShards(failing));
      if (state.balance !== undefined || (isRefused && !allowUnsafe)) return state;
      return failoverPlan(state, nodes, { id, kind, startedMs: 0, allowUnsafe });
    });
  }

  /** Plans to move the shards to all nodes, those that were failed over among them. */
  async rebalance(): Promise<void> {
    const id = `plan ${++this.plans}`;
    if (!this.usesPlanner && this.cluster.random(3) > 0) await this.startPlan(id);
    await this.change((state) => {
      if (state.balance !== undefined) return state;
      // Every other plan recovers nodes by delta recovery.
      const recovery = this.plans % 2 === 0 ? ('delta' as const) : ('full' as const);
      const nodes = state.nodes.map((node) =>
        activated(node.membership === 'active' ? node : { ...node, recovery }),
      );
      const ids = nodes.map(({ uuid }) => uuid);
      const balance: RebalancePlan = {
        id,
        kind: 'rebalance',
        term: 0,
        nodes: ids,
        ejected: [],
        startedMs: 0,
      };
      return { ...state, nodes, balance };
    });
  }

  /** Whether these nodes have the only copies of a shard. */
  private losesShards(failing: readonly string[]): boolean {
    const { nodes, shards } = this.cluster.current;
    return shards.some(({ chain }) => chain.every((at) => at < 0 || failing.includes(nodes[at] ?? '')));
  }

  /**
   * Whether a shard has no active, and all its nodes restarted without what was only in their memory. No node can then know which copy has
   * most. A shard without any copy does not count: an operator has given it up.
   */
  get isLost(): boolean {
    return this.lostShard !== undefined;
  }

  private get lostShard() {
    const { current, memoryLost } = this.cluster;
    return current.shards.find(
      ({ chain, confirmed }, shard) =>
        memoryLost.has(shard) && confirmed === undefined && chain.some((at) => at >= 0),
    );
  }

  /** Does what an operator does for a lost shard: fails over all nodes but one, whose copy is then the shard. */
  async giveUp(): Promise<void> {
    const { current, names } = this.cluster;
    const shard = this.lostShard;
    // The node that keeps its copy is not the promoted active: a failover replaces actives of failed nodes only.
    const remainingCopy = shard?.inSync?.find(([at]) => at !== shard.chain[0])?.[0] ?? -1;
    const keeps = current.nodes[remainingCopy];
    const others = names.filter((name) => name !== keeps);
    if (keeps === undefined) return;
    for (const shard of current.shards.keys()) this.cluster.givenUp.add(shard);
    await this.failOver(others, 'failover', true);
  }

  /** Stops the running plan, without completing its moves. */
  async stopPlan(reason: string): Promise<void> {
    await this.change((state) =>
      state.balance === undefined || state.balance.stopping
        ? state
        : { ...state, balance: { ...state.balance, stopping: { reason } } },
    );
  }

  /** Writes target chains into the map that move more shards than those of the real planner. */
  private async startPlan(id: string): Promise<void> {
    const { bucket, current, names, random, shardCount, state } = this.cluster;
    if (state.balance !== undefined || bucket.record === null) return;
    const { replicaNumber, uuid } = bucket.record;
    const first = random(names.length);
    const shards = Array.from({ length: shardCount }, (_, shard) => ({
      epoch: 0,
      chain: names.map((_, at) => (first + shard + at) % names.length).slice(0, replicaNumber + 1),
    }));
    const { store } = this.orchestrators[random(2)] as Orchestrator;
    await update<BucketMap>(store, mapKey(uuid), current, (map) =>
      startMoves(map, { nodes: names, shards }, id),
    ).catch(() => {});
  }

  /** The access of one of the orchestrators' nodes to the store. */
  get store(): FaultyConfigStore {
    return (this.orchestrators[this.cluster.random(2)] as Orchestrator).store;
  }

  async change(change: (state: ClusterState) => ClusterState): Promise<void> {
    const { state } = this.cluster;
    const { store } = this;
    // Without an answer the plan may be there or not.
    await update(store, clusterKey, state, change).catch(() => {});
    for (const { rebalancer } of this.orchestrators) rebalancer.wake();
  }
}
