// Whether nodes can leave the maps without the loss of a shard.
import type { ClusterView } from './cluster-view.ts';

type MapView = Pick<ClusterView, 'liveBuckets' | 'map'>;

/** True if some shard is only on these nodes, as active or copy. */
export const losesShards = (view: MapView, nodes: readonly string[]): boolean =>
  view.liveBuckets().some(({ uuid }) => {
    const map = view.map(uuid);
    const leaving = nodes.map((id) => map?.nodes.indexOf(id) ?? -1);
    return (map?.shards ?? []).some(({ chain }) => {
      const nodesWithShard = chain.filter((node) => node >= 0);
      return nodesWithShard.length > 0 && nodesWithShard.every((node) => leaving.includes(node));
    });
  });
