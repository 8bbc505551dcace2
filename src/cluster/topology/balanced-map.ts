// Whether a bucket's map has all copies on the data nodes. A failover, or a rebalance that failed or was stopped, may leave a map that has not.
import type { BucketMap, ShardPlacement } from '../config/cluster-state.ts';

/**
 * Whether every shard has its copies, as many as the nodes allow, on these nodes and on no other, and every node has copies. Numbers of
 * active shards are not compared: a node that was killed and restarted has replicas only, until a rebalance.
 */
export function isBalancedMap(
  { nodes, shards }: BucketMap,
  dataNodes: readonly string[],
  replicas: number,
): boolean {
  const copies = Math.min(replicas + 1, dataNodes.length);
  const allHolders = new Set<string>();
  for (const { chain } of shards) {
    const holders = chain.flatMap((position) => (position < 0 ? [] : [nodes[position] ?? '']));
    if (chain.length !== replicas + 1 || holders.length !== copies) return false;
    for (const node of holders) allHolders.add(node);
  }
  return allHolders.size === dataNodes.length && dataNodes.every((id) => allHolders.has(id));
}

/** Whether some shard is on no node: a failover has lost it, and the next rebalance begins it anew, without documents. */
export const hasLostShards = ({ shards }: BucketMap): boolean => shards.some(isLost);

/** The map of a bucket whose every lost shard begins anew on the only node. */
export function withoutLostShards(map: BucketMap, onlyNode: string): BucketMap {
  const nodes = map.nodes.includes(onlyNode) ? map.nodes : [...map.nodes, onlyNode];
  const begun = { chain: [nodes.indexOf(onlyNode)] };
  const shards = map.shards.map((shard) => (isLost(shard) ? { epoch: shard.epoch + 1, ...begun } : shard));
  return { ...map, nodes, shards };
}

const isLost = ({ chain }: ShardPlacement): boolean => (chain[0] ?? -1) < 0;
