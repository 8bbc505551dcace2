// Shards that a failover has lost, of which a failed node that returns has kept the files.
import type { BucketMap, ShardPlacement } from '../config/cluster-state.ts';
import { isInSync, shardMembers } from '../topology/promoted-shard.ts';
import { paddedChain } from '../topology/vbucket-map.ts';

/** The ids of the nodes that have copies of the shard: the active first, which has most of it, then the other members of the in-sync set. */
export function holdersOf({ nodes }: BucketMap, shard: ShardPlacement): string[] {
  const members = shardMembers(shard);
  const isFirst = (member: number): boolean => member === shard.chain[0] || isInSync(shard, member);
  const sorted = [...members.filter(isFirst), ...members.filter((member) => !isFirst(member))];
  return sorted.flatMap((member) => nodes[member] ?? []);
}

/** The map in which lost shards are active on one of the nodes that return with their files, where one of them had a copy. */
export function withReturned(map: BucketMap, returning: readonly string[]): BucketMap {
  const nodes = [...map.nodes];
  const shards = map.shards.map((shard) => {
    const isLost = (shard.chain[0] ?? -1) < 0;
    const holder = isLost ? shard.lastHolders?.find((id) => returning.includes(id)) : undefined;
    if (holder === undefined) return shard;
    if (!nodes.includes(holder)) nodes.push(holder);
    return { epoch: shard.epoch + 1, chain: paddedChain([nodes.indexOf(holder)], shard.chain.length) };
  });
  return { ...map, nodes, shards };
}
