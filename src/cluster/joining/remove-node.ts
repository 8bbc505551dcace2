// Removes nodes from the configuration; a node that sees that it is removed may delete its data.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { ClusterStore } from '../config/cluster.store.ts';
import type { ClusterState, NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { withoutMembers } from '../config/removed-nodes.ts';

/** Longer than a join takes that continues after a crash of either node. */
const abandonMs = 300_000;
/** The pause after an attempt that failed. */
const retryPauseMs = 30_000;

const isJoining = ({ joining }: NodeState): boolean => joining === true;

/** `may` decides on the newest state, and may throw a refusal. */
export async function removeNode(
  cluster: Pick<ClusterStore, 'change'>,
  nodeId: string,
  may: (node: NodeState, state: ClusterState) => boolean = () => true,
): Promise<void> {
  await cluster.change((state) => {
    const node = state.nodes.find(({ uuid }) => uuid === nodeId);
    if (node === undefined || !may(node, state)) return state;
    return withoutMembers(state, [nodeId]);
  });
}

/** Removes nodes whose joins were not completed, once the configuration can be changed. */
export class AbandonedJoins {
  readonly #deps: { view: ClusterView; cluster: Pick<ClusterStore, 'change'>; clock: Clock; log: Log };
  readonly #stopping = new AbortController();

  constructor(deps: { view: ClusterView; cluster: Pick<ClusterStore, 'change'>; clock: Clock; log: Log }) {
    this.#deps = deps;
  }

  /** Removes, after a timeout, the nodes whose joins an earlier run began, and which have not completed them then. */
  start(): void {
    const joining = this.#deps.view.cluster.nodes.filter(isJoining);
    if (joining.length > 0)
      void this.#removeAfter(
        abandonMs,
        joining.map(({ uuid }) => uuid),
      );
  }

  /** Call after an attempt that failed. */
  removeLater(nodeId: string): void {
    void this.#removeAfter(retryPauseMs, [nodeId]);
  }

  async #removeAfter(firstMs: number, nodeIds: readonly string[]): Promise<void> {
    const { clock, cluster, log } = this.#deps;
    const { signal } = this.#stopping;
    for (let pauseMs = firstMs; ; pauseMs = retryPauseMs) {
      await clock.sleep(pauseMs, signal).catch(() => {});
      if (signal.aborted) return;
      try {
        await Promise.all(nodeIds.map((id) => removeNode(cluster, id, isJoining)));
        return;
      } catch (error) {
        log.warn('joining.not_removed', { reason: (error as Error).message });
      }
    }
  }

  stop(): void {
    this.#stopping.abort(new Error('the node stops'));
  }
}
