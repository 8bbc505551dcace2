// Removes nodes from the configuration; a node that sees that it is removed may delete its data.
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { ClusterStore } from '../config/cluster.store.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { withoutMembers } from '../config/removed-nodes.ts';

/** Longer than a join takes that continues after a crash of either node. */
const abandonMs = 300_000;

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

/** Cancels the joins of an earlier run of the founder that are not completed after a timeout. */
export class AbandonedJoins {
  readonly #deps: { view: ClusterView; cluster: Pick<ClusterStore, 'change'>; clock: Clock; log: Log };
  #timer: Timer | null = null;

  constructor(deps: { view: ClusterView; cluster: Pick<ClusterStore, 'change'>; clock: Clock; log: Log }) {
    this.#deps = deps;
  }

  start(): void {
    const isJoining = ({ joining }: NodeState): boolean => joining === true;
    const joining = this.#deps.view.cluster.nodes.filter(isJoining);
    if (joining.length === 0) return;
    const { clock, cluster, log } = this.#deps;
    this.#timer = clock.after(abandonMs, () => {
      const removed = joining.map(({ uuid }) => removeNode(cluster, uuid, isJoining));
      Promise.all(removed).catch(({ message }: Error) =>
        log.warn('joining.not_removed', { reason: message }),
      );
    });
  }

  stop(): void {
    this.#timer?.cancel();
  }
}
