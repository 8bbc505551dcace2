// The key that holds the cluster's nodes and their services.
import { assert } from '#base/assert.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { update } from '#replog/config-store.ts';
import { type ClusterState, clusterKey, type NodeState } from './cluster-state.ts';

export class ClusterStore {
  readonly #store: ConfigStore;

  constructor(store: ConfigStore) {
    this.#store = store;
  }

  /** `change` may throw; then nothing is written. */
  async change(change: (state: ClusterState) => ClusterState): Promise<void> {
    await update<ClusterState | null>(this.#store, clusterKey, null, (state) => {
      assert(state, 'the cluster key is written at start');
      return change(state);
    });
  }

  /** Changes this node's entry. */
  changeSelf(change: (node: NodeState, state: ClusterState) => NodeState): Promise<void> {
    return this.change((state) => {
      const [self, ...others] = state.nodes;
      assert(self, 'a cluster has at least this node');
      return { ...state, nodes: [change(self, state), ...others] };
    });
  }
}
