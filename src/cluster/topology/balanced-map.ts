// Whether a bucket's map is one that a rebalance would leave. A rebalance that failed or was stopped leaves another one.
import type { BucketMap } from '../config/cluster-state.ts';

/**
 * Whether every shard has its copies, as many as the nodes allow, on these nodes and on no other, and the nodes have equal numbers of
 * active shards. Server groups are not compared: their changes are noted in the configuration.
 */
export function isBalancedMap(
  { nodes, shards }: BucketMap,
  dataNodes: readonly string[],
  replicas: number,
): boolean {
  const actives = new Map(dataNodes.map((id) => [id, 0]));
  const copies = Math.min(replicas + 1, dataNodes.length);
  for (const { chain } of shards) {
    const holders = chain.flatMap((position) => (position < 0 ? [] : [nodes[position] ?? '']));
    const [active = ''] = holders;
    if (chain.length !== replicas + 1 || holders.length !== copies) return false;
    if (holders.some((node) => !actives.has(node))) return false;
    actives.set(active, (actives.get(active) ?? 0) + 1);
  }
  const counts = [...actives.values()];
  return Math.max(...counts) - Math.min(...counts) <= 1;
}
