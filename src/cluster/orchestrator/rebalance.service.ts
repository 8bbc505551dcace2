// The rules of rebalance requests. A rebalance is written to the configuration; the orchestrator carries it out.
import type { Form } from '#contract/route.ts';
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import type { ClusterStore } from '../config/cluster.store.ts';
import { type ClusterState, isDataNode, type NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { rebalanceRefusals } from '../refusals/rebalance.refusals.ts';
import { hasLostShards } from '../topology/balanced-map.ts';
import { withCounter } from './counters.ts';

/** Called before nodes leave: where one of them stores the configuration, another node takes it over first, or the request is refused. */
export interface DeparturePreparation {
  prepareDeparture(leaving: readonly NodeState[]): Promise<void>;
}

export interface RebalanceServiceDeps {
  view: Pick<ClusterView, 'cluster' | 'liveBuckets' | 'map'>;
  founderHandover: DeparturePreparation;
  engineMove: DeparturePreparation;
  cluster: Pick<ClusterStore, 'change'>;
  /** Wakes the orchestrator of this node. */
  wake: () => void;
  clock: Clock;
  random: Random;
}

interface RebalanceRequest {
  readonly known: readonly string[];
  readonly ejected: readonly string[];
  /** Names of the buckets that delta recovery must be possible for; null: all that there are. */
  readonly deltaBuckets: readonly string[] | null;
}

export class RebalanceService {
  readonly #deps: RebalanceServiceDeps;

  constructor(deps: RebalanceServiceDeps) {
    this.#deps = deps;
  }

  /** Does nothing while a rebalance runs, and in a cluster of one node that has all shards. */
  async start(form: Form): Promise<void> {
    const requested = requestIn(form);
    if (requested.known.length === 0) throw rebalanceRefusals.noKnownNodes();
    const { view, founderHandover, engineMove, cluster } = this.#deps;
    const planned = stayingAndLeaving(view.cluster, requested);
    this.#checkDelta(planned.staying, requested);
    refuseJoining(planned.staying); // before the configuration moves: the joining node looks for it at its earlier place
    if (view.cluster.balance === undefined) {
      await engineMove.prepareDeparture(planned.leaving);
      await founderHandover.prepareDeparture(planned.leaving);
    }
    await cluster.change((state) => {
      const { staying, leaving } = stayingAndLeaving(state, requested);
      const founder = leaving.find(({ uuid }) => uuid === state.founder);
      if (founder) throw rebalanceRefusals.founder({ otpNode: founder.otpNode });
      refuseJoining(staying);
      const isNeeded = state.nodes.length > 1 || this.#hasLostShards();
      if (state.balance !== undefined || !isNeeded) return state;
      return this.#planned(state, staying, leaving);
    });
    this.#deps.wake();
  }

  #hasLostShards(): boolean {
    const { view } = this.#deps;
    const maps = view.liveBuckets().map(({ uuid }) => view.map(uuid));
    return maps.some((map) => map !== null && hasLostShards(map));
  }

  /** Refuses delta recovery of a bucket that does not exist: the recovered node has no documents of it. */
  #checkDelta(staying: readonly NodeState[], { deltaBuckets }: RebalanceRequest): void {
    if (deltaBuckets === null || !staying.some(({ recovery }) => recovery === 'delta')) return;
    const names = this.#deps.view.liveBuckets().map(({ name }) => name);
    if (!deltaBuckets.every((name) => names.includes(name))) throw rebalanceRefusals.noDelta();
  }

  /** Does nothing if no further attempt of that rebalance is planned. */
  async cancelRetry(id: string): Promise<void> {
    await this.#deps.cluster.change((state) => {
      const { retry, ...rest } = state;
      return retry?.id === id ? rest : state;
    });
  }

  async stop(): Promise<void> {
    await this.#deps.cluster.change((state) =>
      state.balance === undefined || state.balance.stopping
        ? state
        : { ...state, balance: { ...state.balance, stopping: { reason: null } } },
    );
    this.#deps.wake();
  }

  #planned(state: ClusterState, staying: readonly NodeState[], leaving: readonly NodeState[]): ClusterState {
    const ids = (nodes: readonly NodeState[]): string[] => nodes.map(({ uuid }) => uuid);
    const balance = {
      id: this.#deps.random.uuid(),
      kind: 'rebalance' as const,
      term: 0,
      nodes: ids(staying),
      ejected: ids(leaving),
      startedMs: this.#deps.clock.wallMs(),
    };
    const admitted = new Set(ids(staying));
    const nodes = state.nodes.map((node) => (admitted.has(node.uuid) ? activated(node) : node));
    const { retry: _, ...rest } = state;
    return withCounter({ ...rest, nodes, balance }, 'rebalance', 'start');
  }
}

/** Nodes that were failed over and have no recovery type leave as well. */
function stayingAndLeaving(
  state: ClusterState,
  { known: knownNodes, ejected }: RebalanceRequest,
): Record<'staying' | 'leaving', NodeState[]> {
  const names = new Set(state.nodes.map(({ otpNode }) => otpNode));
  const isExact = names.size === new Set(knownNodes).size && knownNodes.every((name) => names.has(name));
  if (!isExact || ejected.some((name) => !names.has(name))) throw rebalanceRefusals.mismatch();
  const leaves = ({ otpNode, membership, recovery }: NodeState): boolean =>
    ejected.includes(otpNode) || (membership === 'inactiveFailed' && recovery === undefined);
  const staying = state.nodes.filter((node) => !leaves(node));
  const leaving = state.nodes.filter(leaves);
  if (staying.length === 0) throw rebalanceRefusals.noActiveNodes();
  if (!staying.some(isDataNode)) throw rebalanceRefusals.noDataNodes();
  return { staying, leaving };
}

function refuseJoining(staying: readonly NodeState[]): void {
  const joining = staying.find((node) => node.joining === true);
  if (joining) throw rebalanceRefusals.joining({ otpNode: joining.otpNode });
}

/** The entry of a node that stays, as it is from the start of the rebalance on. */
export function activated({ keepsCopies, recovery, ...node }: NodeState): NodeState {
  // Without a kind of recovery the node is active already: an earlier rebalance may have begun its delta recovery.
  const isDelta = recovery === undefined ? keepsCopies : recovery === 'delta';
  return {
    ...node,
    membership: 'active',
    ...(node.membership !== 'active' && { newlyActive: true }),
    ...(isDelta && { keepsCopies: true }),
  };
}

const requestIn = (form: Form): RebalanceRequest => ({
  known: namesIn(form['knownNodes']),
  ejected: namesIn(form['ejectedNodes']),
  deltaBuckets: form['deltaRecoveryBuckets'] === undefined ? null : namesIn(form['deltaRecoveryBuckets']),
});

const namesIn = (sent: string | undefined): string[] =>
  (sent ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
