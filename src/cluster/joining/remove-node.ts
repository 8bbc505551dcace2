// Removes nodes from the configuration; a node that sees that it is removed may delete its data.
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { ClusterStore } from '../config/cluster.store.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { withoutMembers } from '../config/removed-nodes.ts';

/** Longer than a join takes that continues after a crash of either node. */
const abandonMs = 300_000;
/** The pause after an attempt that failed. */
const retryMs = 30_000;

const isJoining = ({ joining }: NodeState): boolean => joining === true;

/** `may` decides on the newest state, and may throw a refusal. */
export async function removeNode(
  cluster: Pick<ClusterStore, 'change'>,
  nodeId: string,
  may: (node: NodeState) => boolean = () => true,
): Promise<void> {
  await cluster.change((state) => {
    const node = state.nodes.find(({ uuid }) => uuid === nodeId);
    if (node === undefined || !may(node)) return state;
    return withoutMembers(state, [nodeId]);
  });
}

/** Cancels the joins of an earlier run that are not completed after a timeout. */
export class AbandonedJoins {
  readonly #deps: { view: ClusterView; cluster: Pick<ClusterStore, 'change'>; clock: Clock; log: Log };
  #timer: Timer | null = null;
  #isStopped = false;

  constructor(deps: { view: ClusterView; cluster: Pick<ClusterStore, 'change'>; clock: Clock; log: Log }) {
    this.#deps = deps;
  }

  start(): void {
    const joining = this.#deps.view.cluster.nodes.filter(isJoining);
    if (joining.length > 0) this.#removeAfter(abandonMs, joining);
  }

  #removeAfter(ms: number, joining: readonly NodeState[]): void {
    const { clock, cluster, log } = this.#deps;
    this.#timer = clock.after(ms, () => {
      const removed = joining.map(({ uuid }) => removeNode(cluster, uuid, isJoining));
      Promise.all(removed).catch(({ message }: Error) => {
        log.warn('joining.not_removed', { reason: message });
        if (!this.#isStopped) this.#removeAfter(retryMs, joining);
      });
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }
}
