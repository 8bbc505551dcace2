// The placement of a shard after another node was promoted: it is the active of the next epoch.
import type { ShardPlacement } from '../config/cluster-state.ts';
import { paddedChain } from './vbucket-map.ts';

type Chain = readonly number[];

/**
 * Promotes `node` to the active of the next epoch, with the other nodes of `chain` as copies. Nodes outside `chain` keep their copies until
 * the new active has confirmed, since it may read from them what it lacks. The in-sync set does not change.
 */
export function promotedShard(shard: ShardPlacement, node: number, chain: Chain): ShardPlacement {
  const { confirmed: _, successor: __, incoming: ___, ...rest } = shard;
  const others = chain.filter((position) => position !== node && position >= 0);
  const promoted = paddedChain([node, ...others].slice(0, chain.length), chain.length);
  const incoming = [...new Set([...shardMembers(shard), ...others])].filter(
    (position) => !promoted.includes(position),
  );
  const placed = { ...rest, ...lastActiveOf(shard), epoch: shard.epoch + 1, chain: promoted };
  return { ...placed, ...(incoming.length > 0 && { incoming }) };
}

/** Which node was the last active, once another one is promoted: its disk has every write that was acknowledged as persisted. */
export function lastActiveOf({
  chain,
  confirmed,
  lastActive,
}: ShardPlacement): Pick<ShardPlacement, 'lastActive'> {
  const last = confirmed === undefined ? lastActive : chain[0];
  return last === undefined ? {} : { lastActive: last };
}

/** The nodes that have a copy of the shard, or receive one. */
export const shardMembers = ({ chain, incoming = [] }: ShardPlacement): number[] =>
  [...chain, ...incoming].filter((node) => node >= 0);
