// What data services do with the map of a bucket whose shards move, without data: actives confirm, copies join, actives stop.
import type { BucketMap, ShardPlacement } from '../../src/cluster/config/cluster-state.ts';
import { planMap } from '../../src/cluster/topology/plan-map.ts';
import type { Random } from './random.ts';

const nodesNamed = (names: string) => names.split(' ').map((id) => ({ id, group: 'Group 1' }));
const bootOf = (node: string): string => `boot of ${node}`;

/** The map when no shard moves: each active is confirmed, all copies are in sync. */
export function stable(map: BucketMap): BucketMap {
  const shards = map.shards.map(({ epoch, chain }) => ({
    epoch,
    chain,
    confirmed: bootOf(map.nodes[chain[0] as number] as string),
    inSync: chain
      .filter((node) => node >= 0)
      .map((node) => [node, bootOf(map.nodes[node] as string)] as const),
  }));
  return { ...map, shards };
}

export const planned = (names: string, replicas: number, current: BucketMap | null = null): BucketMap =>
  planMap({ nodes: nodesNamed(names), replicas, current });

/** One change of one shard that a data service makes when the map requests it; null: none is due. */
function reaction(map: BucketMap, shard: ShardPlacement): ShardPlacement | null {
  const boot = (node: number): string => bootOf(map.nodes[node] as string);
  const [active = -1] = shard.chain;
  const inSync = shard.inSync ?? [[active, boot(active)] as const];
  if (shard.stopped === shard.epoch) return null;
  if (shard.confirmed === undefined) return { ...shard, confirmed: boot(active), inSync };
  const followers = [...shard.chain, ...(shard.incoming ?? [])].filter((node) => node >= 0);
  const joining = followers.find((node) => !inSync.some(([member]) => member === node));
  if (joining !== undefined) return { ...shard, inSync: [...inSync, [joining, boot(joining)]] };
  const left = inSync.filter(([member]) => followers.includes(member));
  if (left.length < inSync.length) return { ...shard, inSync: left };
  if (shard.successor === undefined) return null;
  const { confirmed: _, ...rest } = shard;
  return { ...rest, stopped: shard.epoch };
}

/** The map after the reactions that are due, each made with a probability of `percent`. */
export function reacted(map: BucketMap, random: Random, percent: number): BucketMap {
  const shards = map.shards.map((shard) => (random(100) < percent ? (reaction(map, shard) ?? shard) : shard));
  return { ...map, shards };
}
