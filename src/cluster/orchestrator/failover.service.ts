// The rules of failover requests. A failover is written to the configuration as a plan; the orchestrator carries it out.
import type { Form } from '#contract/route.ts';
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import type { ClusterStore } from '../config/cluster.store.ts';
import {
  type ClusterState,
  isDataNode,
  isFailedOver,
  type NodeState,
  type RebalanceOutcome,
} from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { losesShards } from '../config/only-copies.ts';
import { until } from '../config/until.ts';
import { failoverRefusals } from '../refusals/failover.refusals.ts';
import { type FailoverPlanOptions, failoverPlan } from './failover-plan.ts';
import { nodesCountedForFailover } from './members.ts';
import type { DeparturePreparation } from './rebalance.service.ts';

/** How long a request waits for its failover: if the failed node is the orchestrator, another node must take its place first. */
const waitMs = 60_000;

export interface FailoverServiceDeps {
  view: Pick<ClusterView, 'cluster' | 'onChange' | 'liveBuckets' | 'map'>;
  cluster: Pick<ClusterStore, 'change'>;
  orchestration: { wake(): void; receivesFrom(node: string): boolean };
  founderHandover: DeparturePreparation;
  founderChange: {
    /** Another node stores the configuration, and cannot be used now. */
    readonly isFounderUnreachable: boolean;
    /** This node stores the configuration from now on. The configuration then contains the plan of this failover. */
    takeOver(request: { readonly failing: readonly NodeState[]; readonly planId: string }): Promise<void>;
  };
  clock: Clock;
  random: Random;
}

export class FailoverService {
  readonly #deps: FailoverServiceDeps;

  constructor(deps: FailoverServiceDeps) {
    this.#deps = deps;
  }

  /** Resolves with the id of the plan. */
  async start(form: Form): Promise<string> {
    const names = namesIn(form);
    const allowUnsafe = flagIn(form['allowUnsafe']);
    const id = this.#deps.random.uuid();
    if (await this.#takeOverFromLostFounder(names, allowUnsafe, id)) return id;
    const failingIn = (state: ClusterState): NodeState[] => {
      const failing = nodesToFailOver(state, names);
      if (state.balance !== undefined) throw failoverRefusals.rebalancing();
      if (!allowUnsafe) this.#refuseUnsafe(state, failing);
      return failing;
    };
    await this.#plan(failingIn, { id, kind: 'failover', allowUnsafe });
    return id;
  }

  /** Before a founder that still runs is failed over, another node takes the configuration over. */
  async #plan(
    failingIn: (state: ClusterState) => NodeState[],
    options: Pick<FailoverPlanOptions, 'id' | 'kind' | 'allowUnsafe'>,
  ): Promise<void> {
    const { cluster, view, founderHandover, orchestration, clock } = this.#deps;
    await founderHandover.prepareDeparture(failingIn(view.cluster));
    const startedMs = clock.wallMs();
    await cluster.change((state) => failoverPlan(state, failingIn(state), { ...options, startedMs }));
    orchestration.wake();
  }

  async startAndWait(form: Form): Promise<void> {
    const { view, clock } = this.#deps;
    const id = await this.start(form);
    let isSeen = false;
    const hasEnded = (): boolean => {
      const { balance, lastBalance } = view.cluster;
      isSeen ||= balance?.id === id;
      return lastBalance?.id === id || (isSeen && balance?.id !== id);
    };
    if (!(await until(view, hasEnded, waitMs, clock)))
      throw failoverRefusals.failed({ reason: `the failover takes longer than ${waitMs / 1000} seconds` });
    const { outcome, reason } = this.#outcomeOf(id, namesIn(form));
    if (outcome === 'stopped') throw failoverRefusals.stopped();
    if (outcome !== 'completed') throw failoverRefusals.failed({ reason: reason ?? 'no reason is known' });
  }

  /** The end of a later plan, which this node saw together with that of this one, replaces it: then the nodes show how this one ended. */
  #outcomeOf(id: string, names: readonly string[]): Partial<RebalanceOutcome> {
    const { lastBalance, nodes } = this.#deps.view.cluster;
    if (lastBalance?.id === id) return lastBalance;
    const isDone = !nodes.some((node) => names.includes(node.otpNode) && isActive(node));
    return { outcome: isDone ? 'completed' : 'failed' };
  }

  /** The nodes run: their active shards move to other nodes before the nodes leave the maps. */
  async startGracefully(form: Form): Promise<void> {
    const names = namesIn(form);
    const { view, random } = this.#deps;
    const failingIn = (state: ClusterState): NodeState[] => {
      const failing = nodesToFailOver(state, names);
      if (!failing.every(isDataNode)) throw failoverRefusals.noDataService();
      const ids = failing.map(({ uuid }) => uuid);
      if (losesShards(view, ids)) throw failoverRefusals.losesShards();
      if (state.balance !== undefined) throw failoverRefusals.rebalancing();
      return failing;
    };
    await this.#plan(failingIn, { id: random.uuid(), kind: 'gracefulFailover' });
  }

  async setRecovery({ otpNode, recoveryType }: Form): Promise<void> {
    if (recoveryType !== 'full' && recoveryType !== 'delta') throw failoverRefusals.recoveryType();
    await this.#deps.cluster.change((state) => {
      const node = state.nodes.find((candidate) => candidate.otpNode === otpNode);
      if (!node || !canRecover(node, recoveryType)) throw failoverRefusals.recoveryNode();
      // At its end the node leaves, and deletes its files.
      if (state.balance?.ejected.includes(node.uuid)) throw failoverRefusals.rebalancing();
      return withNode(state, { ...node, membership: 'inactiveAdded', recovery: recoveryType });
    });
  }

  /** Cancels the recovery of a node: its state is that after its failover again. */
  async failOverAgain({ otpNode }: Form): Promise<void> {
    await this.#deps.cluster.change((state) => {
      const node = state.nodes.find((candidate) => candidate.otpNode === otpNode);
      if (node?.membership !== 'inactiveAdded' || node.recovery === undefined)
        throw failoverRefusals.notRecovering();
      const { recovery: _, ...rest } = node;
      return withNode(state, { ...rest, membership: 'inactiveFailed' });
    });
  }

  /**
   * If the founder is one of the failed nodes and cannot be reached, no plan can be written: this node then takes the configuration over, with
   * the plan in it. Resolves with whether it did.
   */
  async #takeOverFromLostFounder(
    names: readonly string[],
    allowUnsafe: boolean,
    planId: string,
  ): Promise<boolean> {
    const { view, founderChange, orchestration } = this.#deps;
    const { cluster } = view;
    const failing = cluster.nodes.filter(({ otpNode }) => names.includes(otpNode));
    const founder = failing.find(({ uuid }) => uuid === cluster.founder);
    if (founder === undefined || !founderChange.isFounderUnreachable) return false;
    if (!allowUnsafe) throw failoverRefusals.founderAway({ otpNode: founder.otpNode });
    nodesToFailOver(cluster, names);
    await founderChange.takeOver({ failing, planId });
    orchestration.wake();
    return true;
  }

  #refuseUnsafe({ nodes }: ClusterState, failing: readonly NodeState[]): void {
    const active = nodes.filter(isActive);
    const reached = active.filter(
      (node) => !failing.includes(node) && this.#deps.orchestration.receivesFrom(node.uuid),
    );
    const isMajority = 2 * reached.length > active.length;
    // Both nodes of a pair may serve: neither knows whether the other is down or only unreachable.
    const isPair =
      nodesCountedForFailover(active, failing).length <= 2 && failing.some((node) => this.#serves(node));
    if (!isMajority || isPair) throw failoverRefusals.unsafe();
  }

  #serves({ uuid }: NodeState): boolean {
    const { view } = this.#deps;
    return view.liveBuckets().some((bucket) => view.map(bucket.uuid)?.nodes.includes(uuid));
  }
}

function namesIn({ otpNode }: Form): string[] {
  const names = [...new Set((otpNode ?? '').split('\n').filter((name) => name !== ''))];
  if (names.length === 0) throw failoverRefusals.noServer();
  return names;
}

function nodesToFailOver(state: ClusterState, names: readonly string[]): NodeState[] {
  const named = state.nodes.filter(({ otpNode }) => names.includes(otpNode));
  const unknown = names.filter((name) => !named.some(({ otpNode }) => otpNode === name));
  if (unknown.length > 0) throw failoverRefusals.unknown({ names: JSON.stringify(unknown) });
  if (!named.every(isActive)) throw failoverRefusals.inactive();
  const left = state.nodes.filter((node) => isActive(node) && isDataNode(node) && !named.includes(node));
  if (left.length === 0) throw failoverRefusals.lastActive();
  return named;
}

const isActive = ({ membership }: NodeState): boolean => membership === 'active';

/** Only documents and indexes can be brought up to date; other services start empty. */
function canRecover(node: NodeState, type: 'full' | 'delta'): boolean {
  const keepsFiles = isDataNode(node) || (node.services?.includes('index') ?? false);
  return isFailedOver(node) && (type === 'full' || keepsFiles);
}

/** The state with the node as given, and without the retry of a rebalance, which was planned for the node as it was. */
const withNode = ({ retry: _, ...state }: ClusterState, node: NodeState): ClusterState => ({
  ...state,
  nodes: state.nodes.map((before) => (before.uuid === node.uuid ? node : before)),
});

function flagIn(sent: string | undefined): boolean {
  if (sent !== undefined && sent !== 'true' && sent !== 'false') throw failoverRefusals.unsafeValue();
  return sent === 'true';
}
