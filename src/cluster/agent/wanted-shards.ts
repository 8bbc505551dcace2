// What this node's data service does with each shard of a bucket, from the bucket's map.
import type { ShardSpec } from '#kv/admin.ts';
import type { BucketMap, ShardPlacement } from '../config/cluster-state.ts';

export function wantedShards(map: BucketMap, nodeId: string): readonly ShardSpec[] {
  const own = map.nodes.indexOf(nodeId);
  /** Equal shards are one object: a message to the data thread holds it once. */
  const made = new Map<string, ShardSpec>();
  return map.shards.map((shard) => {
    const text = JSON.stringify(shard);
    const spec = made.get(text) ?? specOf(shard, own, map.nodes);
    made.set(text, spec);
    return spec;
  });
}

function specOf({ epoch, chain }: ShardPlacement, own: number, nodes: readonly string[]): ShardSpec {
  const [active, ...copies] = chain;
  const isCopy = own >= 0 && copies.includes(own);
  const state = own >= 0 && active === own ? 'active' : isCopy ? 'replica' : 'dead';
  return { state, epoch, replicas: copies.flatMap((node) => nodes[node] ?? []) };
}
