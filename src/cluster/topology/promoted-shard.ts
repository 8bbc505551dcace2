// The placement of a shard after another node was promoted to the active of the next epoch. Numbers of nodes are positions in the `nodes` of
// the bucket's map.
import type { LastActive, ShardPlacement } from '../config/cluster-state.ts';
import { paddedChain } from './vbucket-map.ts';

type Chain = readonly number[];

/**
 * Where no active serves: promotes `node` to the active of the next epoch, with the other nodes of `chain` as copies. Nodes outside `chain`
 * keep their copies until the new active has confirmed, since it may read from them what it lacks. The in-sync set does not change.
 */
export function promotedShard(shard: ShardPlacement, node: number, chain: Chain): ShardPlacement {
  const { confirmed: _, successor: __, incoming: ___, lastActive: ____, ...rest } = shard;
  const others = chain.filter((position) => position !== node && position >= 0);
  const promoted = paddedChain([node, ...others].slice(0, chain.length), chain.length);
  const incoming = [...new Set([...shardMembers(shard), ...others])].filter(
    (position) => !promoted.includes(position),
  );
  const placed = { ...rest, ...lastActiveAfter(shard), epoch: shard.epoch + 1, chain: promoted };
  return { ...placed, ...(incoming.length > 0 && { incoming }) };
}

/** What the shard keeps about its last active when another node is promoted. `active`: the id of the replaced active, which counts if it had confirmed. */
export function lastActiveAfter(shard: ShardPlacement, active?: string): Pick<ShardPlacement, 'lastActive'> {
  const confirmed = shard.confirmed === undefined ? undefined : active;
  const last = lastActiveOf(shard)?.node ?? confirmed;
  return last === undefined ? {} : { lastActive: { node: last, epoch: shard.epoch } };
}

/**
 * The node that continues the shard where all members have lost their memory, if that is not the present active. Null also where the node is not
 * known: a node of an older version keeps the field unchanged when it confirms, stops or promotes, and the epoch in the field does not fit then.
 */
export function lastActiveOf({ confirmed, epoch, lastActive, stopped }: ShardPlacement): LastActive | null {
  const last = confirmed !== undefined || stopped === epoch ? epoch : epoch - 1;
  return lastActive?.epoch === last ? lastActive : null;
}

/** Whether the previous active has stopped, and all members have its changes: the new active, which has not confirmed yet, among them. */
export const isHandedOver = ({ confirmed, epoch, handedOver, stopped }: ShardPlacement): boolean =>
  confirmed === undefined && stopped === epoch - 1 && handedOver === stopped;

export const isSameChain = (a: Chain, b: Chain): boolean =>
  a.length === b.length && a.every((node, position) => node === b[position]);

/** Whether all nodes that are to have the shard are members of its in-sync set. */
export const isGoalInSync = (shard: ShardPlacement, goal: Chain): boolean =>
  goal.every((node) => node < 0 || isInSync(shard, node));

export const isInSync = ({ chain, inSync }: ShardPlacement, node: number): boolean =>
  inSync?.some(([position]) => position === node) ?? chain[0] === node;

/** The nodes that have a copy of the shard, or receive one. */
export const shardMembers = ({ chain, incoming = [] }: ShardPlacement): number[] =>
  [...chain, ...incoming].filter((node) => node >= 0);
