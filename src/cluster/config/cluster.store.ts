// The key that holds the cluster's nodes and their services.
import { assert } from '#base/assert.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { update } from '#replog/config-store.ts';
import { type ClusterState, clusterKey, type NodeState } from './cluster-state.ts';

export class ClusterStore {
  readonly #store: ConfigStore;
  readonly #nodeId: string;

  /** `nodeId` is the id of the node that runs this process. */
  constructor(store: ConfigStore, nodeId: string) {
    this.#store = store;
    this.#nodeId = nodeId;
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
      const isSelf = ({ uuid }: NodeState): boolean => uuid === this.#nodeId;
      assert(state.nodes.some(isSelf), 'the configuration has this node');
      return { ...state, nodes: state.nodes.map((node) => (isSelf(node) ? change(node, state) : node)) };
    });
  }
}
