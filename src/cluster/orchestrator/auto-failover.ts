// Automatic failover, on the node that is the orchestrator: watches which nodes are down, plans the failover of those that stay down for the
// configured time, and reports what it did or could not do. The rules are in auto-failover-rules.ts.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { PeriodicTask } from '#ports/periodic-task.ts';
import type { Random } from '#ports/random.ts';
import type { AutoFailoverSettings, FailoverSettings } from '../auto-failover/auto-failover.service.ts';
import type { ClusterStore } from '../config/cluster.store.ts';
import type { NodeState, PlanEnd, RebalancePlan } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import {
  decideFailover,
  failedOver,
  listChanged,
  type Notice,
  notFailedOver,
} from './auto-failover-rules.ts';
import { failoverPlan } from './failover-plan.ts';
import { type Heartbeats, silentAfterMs } from './heartbeats.ts';

const checkEveryMs = 500;
/** The set of nodes that are down must be the same for this long before any of them is failed over. */
const sameSetMs = 2_000;
/** The pause between two attempts. */
const retryPauseMs = 5_000;

const silent = 'All monitors report node is unhealthy.';
const diskFails = 'The disk of the node failed for the duration of the auto-failover threshold.';

export interface AutoFailoverDeps {
  view: Pick<ClusterView, 'cluster' | 'activeNodes' | 'liveBuckets' | 'map'>;
  cluster: Pick<ClusterStore, 'change'>;
  heartbeats: Pick<Heartbeats, 'receivesFrom' | 'silentMs' | 'diskFailsMs'>;
  settings: {
    autoFailover(): Promise<AutoFailoverSettings>;
    failover(): Promise<FailoverSettings>;
    countFailedOver(failedOver: { plan: string; nodes: number }): Promise<void>;
  };
  /** The term in which this node is the orchestrator; null: it is not. */
  term: () => number | null;
  /** Mails the notice and records it as an event. */
  report: (notice: Notice) => void;
  /** Called after an attempt to plan a failover, even one that changed nothing, unless a running rebalance delays it. */
  planned: () => void;
  clock: Clock;
  random: Random;
  log: Log;
}

/** A node that may have to be failed over. */
interface DownNode {
  readonly node: NodeState;
  readonly reason: string;
  /** The time it has been down minus the configured time; negative while that is not reached. */
  readonly overdueMs: number;
}

export class AutoFailover {
  readonly #deps: AutoFailoverDeps;
  /** What was reported since all nodes were up. */
  readonly #reported = new Set<string>();
  readonly #checks: PeriodicTask;
  /** Ids of the nodes that were down at the last check: sorted, with spaces between them. */
  #down = '';
  /** Since when `#down` is the same. */
  #sameSinceMs = 0;
  #attemptedMs = -Infinity;
  /** The stored count of failovers at the last check: a lower one means that it was reset. */
  #lastCount = 0;
  /** By node: since when it has been active; -Infinity where it always was, Infinity where it is not. */
  #activeSinceMs: ReadonlyMap<string, number> = new Map();

  constructor(deps: AutoFailoverDeps) {
    this.#deps = deps;
    const { clock, log } = deps;
    // The configuration cannot be read or written now: no node fails over meanwhile.
    const onError = ({ message }: Error) => log.warn('auto_failover.failed', { reason: message });
    this.#checks = new PeriodicTask({ everyMs: checkEveryMs, clock, onError });
  }

  start(): void {
    this.#checks.start(() => this.#check());
  }

  stop(): void {
    void this.#checks.stop();
  }

  /**
   * Counts the nodes of an automatic failover that is about to end with success. If the orchestrator crashes then, and the plan is stopped,
   * they stay counted: the cluster does fewer failovers than the settings permit, never more.
   */
  async completing({ failing = [], id }: RebalancePlan): Promise<void> {
    await this.#deps.settings.countFailedOver({ plan: id, nodes: failing.length });
  }

  /** Called when a plan has ended: reports how an automatic failover ended. */
  ended({ automatic, failing, named, outcome, reason }: PlanEnd): void {
    if (automatic === undefined) return;
    const present = this.#deps.view.cluster.nodes.filter(({ uuid }) => failing?.includes(uuid));
    // A node may have left since. Ends of older versions have no names.
    const nodes = named?.failed.map((otpNode) => ({ otpNode })) ?? present;
    if (outcome !== 'completed') this.#report(notFailedOver(nodes, reason ?? 'Stopped by user.'));
    // Each of them is reported, unlike reasons that are found again at each check.
    else for (const node of nodes) this.#deps.report(failedOver(node, automatic));
  }

  async #check(): Promise<void> {
    const { clock, settings, view, heartbeats, term } = this.#deps;
    this.#noteActive();
    if (term() === null) return this.#discard();
    const suspects = view.activeNodes.filter(
      ({ uuid }) => this.#isSilent(uuid) || heartbeats.diskFailsMs(uuid) > 0,
    );
    if (suspects.length === 0) return this.#discard();
    const current = await settings.autoFailover();
    if (!current.enabled) return this.#discard();
    if (current.count < this.#lastCount) this.#reported.clear();
    this.#lastCount = current.count;
    const down = suspects.flatMap((node) => this.#downNode(node, current) ?? []);
    this.#noteSet(down);
    const isSame = clock.monotonicMs() - this.#sameSinceMs >= sameSetMs;
    if (isSame && clock.monotonicMs() - this.#attemptedMs >= retryPauseMs) await this.#act(down, current);
  }

  #noteActive(): void {
    const now = this.#deps.clock.monotonicMs();
    const before = this.#activeSinceMs;
    const since = ({ membership, uuid }: NodeState): number =>
      membership === 'active' ? Math.min(before.get(uuid) ?? -Infinity, now) : Infinity;
    this.#activeSinceMs = new Map(this.#deps.view.cluster.nodes.map((node) => [node.uuid, since(node)]));
  }

  /** The silence of a node before it was recovered does not count: its heartbeats may be on their way. */
  #silentWhileActiveMs(node: string): number {
    const { clock, heartbeats } = this.#deps;
    const activeMs = clock.monotonicMs() - (this.#activeSinceMs.get(node) ?? -Infinity);
    return Math.min(heartbeats.silentMs(node), activeMs);
  }

  /** Null where only the disk fails, and the settings ignore failures of disks. */
  #downNode(node: NodeState, { timeout, diskIssues, diskPeriod }: AutoFailoverSettings): DownNode | null {
    const { heartbeats } = this.#deps;
    if (this.#isSilent(node.uuid))
      return { node, reason: silent, overdueMs: this.#silentWhileActiveMs(node.uuid) - timeout * 1000 };
    if (!diskIssues) return null;
    return { node, reason: diskFails, overdueMs: heartbeats.diskFailsMs(node.uuid) - diskPeriod * 1000 };
  }

  /**
   * A set of down nodes that changes shortly before a failover may mean a spreading network fault: the wait starts over, and the
   * change is reported.
   */
  #noteSet(down: readonly DownNode[]): void {
    const names = down.map(({ node }) => node.uuid).sort();
    const earlier = this.#down === '' ? [] : this.#down.split(' ');
    if (names.join(' ') === this.#down) return;
    this.#down = names.join(' ');
    this.#sameSinceMs = this.#deps.clock.monotonicMs();
    for (const { node, overdueMs } of down)
      if (earlier.includes(node.uuid) && overdueMs > -sameSetMs) this.#report(listChanged(node));
  }

  async #act(down: readonly DownNode[], { count, maxCount, canAbortRebalance }: AutoFailoverSettings) {
    const { view, heartbeats, settings, clock } = this.#deps;
    const ready = down.filter(({ overdueMs }) => overdueMs >= 0);
    // A failover that runs may be the one of these nodes: before its end they are counted, but still active.
    if (ready.length === 0 || view.cluster.balance?.kind === 'failover') return;
    const active = view.activeNodes;
    const { preserveDurableMutations } = await settings.failover();
    const { failing, notices } = decideFailover({
      active,
      founder: view.cluster.founder,
      count,
      maxCount,
      preservesDurable: preserveDurableMutations,
      down: down.map(({ node }) => node.uuid),
      ready: ready.map(({ node }) => node.uuid),
      reached: active.filter(({ uuid }) => heartbeats.receivesFrom(uuid)).length,
      buckets: this.#buckets(),
    });
    for (const notice of notices) this.#report(notice);
    if (failing.length === 0) return;
    this.#attemptedMs = clock.monotonicMs();
    const [first] = ready.filter(({ node }) => failing.includes(node.uuid));
    await this.#plan(failing, {
      automaticReason: first?.reason ?? silent,
      allowUnsafe: !preserveDurableMutations,
      canAbortRebalance,
    });
  }

  async #plan(
    failing: readonly string[],
    options: { automaticReason: string; allowUnsafe: boolean; canAbortRebalance: boolean },
  ): Promise<void> {
    const { cluster, clock, random, planned, term } = this.#deps;
    const { automaticReason, allowUnsafe } = options;
    let isDelayed = false;
    await cluster.change((state) => {
      const isFailover = state.balance?.kind === 'failover';
      isDelayed = state.balance !== undefined && !isFailover && !options.canAbortRebalance;
      const nodes = state.nodes.filter(({ uuid }) => failing.includes(uuid));
      if (term() === null || nodes.length < failing.length || isDelayed) return state;
      if (state.balance !== undefined) {
        // The plan must end first: the failover is attempted again at the next check, not only after `retryPauseMs`.
        this.#attemptedMs = clock.monotonicMs() - retryPauseMs + checkEveryMs;
        // A failover ends by itself, and may be the one of these nodes.
        if (isFailover) return state;
        const stopping = state.balance.stopping ?? { reason: 'A node fails over automatically.' };
        return { ...state, balance: { ...state.balance, stopping } };
      }
      if (nodes.some(({ membership }) => membership !== 'active')) return state;
      const startedMs = clock.wallMs();
      return failoverPlan(state, nodes, {
        id: random.uuid(),
        kind: 'failover',
        startedMs,
        allowUnsafe,
        automatic: automaticReason,
      });
    });
    const { nodes } = this.#deps.view.cluster;
    if (!isDelayed) return planned();
    const failed = nodes.filter(({ uuid }) => failing.includes(uuid));
    this.#report(notFailedOver(failed, 'Rebalance is running.'));
  }

  /** Whether neither this node nor one that reports to it has received a heartbeat of that node recently. */
  #isSilent(node: string): boolean {
    return this.#deps.heartbeats.silentMs(node) >= silentAfterMs;
  }

  #buckets() {
    const { view } = this.#deps;
    return view.liveBuckets().flatMap(({ uuid, name }) => {
      const map = view.map(uuid);
      return map === null ? [] : [{ name, map }];
    });
  }

  #report(notice: Notice): void {
    const key = `${notice.kind} ${notice.text}`;
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    this.#deps.report(notice);
  }

  #discard(): void {
    this.#reported.clear();
    this.#down = '';
  }
}
