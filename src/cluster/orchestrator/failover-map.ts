// A bucket's map after a failover: for each shard whose active has failed another member of the in-sync set is promoted, and the failed
// nodes leave all chains.
import type { BucketMap, ShardPlacement } from '../config/cluster-state.ts';
import { isInSync, lastActiveAfter, lastActiveOf } from '../topology/promoted-shard.ts';
import { paddedChain } from '../topology/vbucket-map.ts';
import { holdersOf } from './returned-shards.ts';

/** How many changes a copy of a shard has. The furthest copy lacks the fewest of the writes that were not durable. */
export interface ShardPosition {
  /** The lowest epoch of the shard's vbuckets. */
  readonly epoch: number;
  /** The sum of the highest seqnos of the shard's vbuckets. */
  readonly seqno: number;
}

/** Null: the position is not known. */
export type PositionOf = (node: string, shard: number) => ShardPosition | null;

export interface CopyStates {
  readonly position: PositionOf;
  /** Whether the process of the node started after the one that the in-sync set names. It then lacks what the named process had only in memory. */
  readonly hasRestarted: (node: string, shard: number) => boolean;
}

export interface FailoverOptions extends Partial<CopyStates> {
  /** Ids of the failed nodes. */
  readonly failed: readonly string[];
  /** Whether a node's copy is known to lack acknowledged changes, though the in-sync set names the node: it was promoted before and has restarted. */
  readonly lacks?: (node: string, shard: number) => boolean;
  /** Promotes a copy that may lack durable writes where no other is left. */
  readonly allowUnsafe: boolean;
}

export interface FailoverMap {
  readonly map: BucketMap;
  /** Shards whose copies may all lack durable writes; without `allowUnsafe` they are not changed. */
  readonly unsafe: readonly number[];
  /** Shards without any copy: their documents are lost. */
  readonly lost: readonly number[];
}

export function failoverMap(map: BucketMap, options: FailoverOptions): FailoverMap {
  const failed = options.failed.map((id) => map.nodes.indexOf(id)).filter((position) => position >= 0);
  const unsafe: number[] = [];
  const lost: number[] = [];
  const shards = map.shards.map((shard, index) => {
    const live = liveOf(shard, failed);
    const active = shard.chain[0] ?? -1;
    if (!failed.includes(active)) {
      const hasRestarted = (node: number): boolean =>
        options.hasRestarted?.(map.nodes[node] ?? '', index) ?? false;
      const isWaiting = waitsForFailed(shard, failed, hasRestarted);
      if (isWaiting) unsafe.push(index);
      if (isWaiting && !options.allowUnsafe) return shard;
      const last = lastActiveOf(shard)?.node ?? '';
      if (options.allowUnsafe && options.failed.includes(last))
        return withChain(withoutLast(shard, failed), live);
      return withChain(isWaiting ? withoutFailed(shard, failed) : shard, live);
    }
    if (live.length === 0) {
      lost.push(index);
      const chain = shard.chain.map(() => -1);
      return { epoch: shard.epoch + 1, chain, lastHolders: holdersOf(map, shard) };
    }
    const lacks = (node: number): boolean => options.lacks?.(map.nodes[node] ?? '', index) ?? false;
    const inSync = live.filter((node) => isInSync(shard, node) && !lacks(node));
    if (inSync.length === 0) unsafe.push(index);
    if (inSync.length === 0 && !options.allowUnsafe) return shard;
    const node = furthest(inSync.length > 0 ? inSync : live, (candidate) =>
      options.position?.(map.nodes[candidate] ?? '', index),
    );
    const members = options.allowUnsafe ? withoutFailed(shard, failed).inSync : shard.inSync;
    // A member of the in-sync set keeps the set; a copy outside of it begins a new one. With `allowUnsafe` the failed nodes leave the set: a
    // member that has restarted would wait for their report.
    const kept = { ...(members && { inSync: members }), ...lastActiveAfter(shard, map.nodes[active]) };
    return promoted(shard, node, live, inSync.length > 0 ? kept : {});
  });
  return { map: { ...map, shards }, unsafe, lost };
}

/** The map to which a graceful failover leads: each shard stays on its other nodes. */
export function withoutNodes(map: BucketMap, leaving: readonly string[]): BucketMap {
  const positions = leaving.map((id) => map.nodes.indexOf(id));
  const shards = map.shards.map((shard) => ({
    epoch: shard.epoch,
    chain: paddedChain(
      shard.chain.filter((node) => node >= 0 && !positions.includes(node)),
      shard.chain.length,
    ),
  }));
  return { nodes: map.nodes, shards };
}

/** Incoming copies come last: clients do not know them, and they may be incomplete. */
const liveOf = ({ chain, incoming = [] }: ShardPlacement, failed: readonly number[]): number[] =>
  [...chain, ...incoming].filter((node) => node >= 0 && !failed.includes(node));

/**
 * Whether the active has restarted and waits for one of the failed nodes, which alone may have what was acknowledged in memory: the active would
 * wait for ever.
 */
function waitsForFailed(
  { chain, inSync = [] }: ShardPlacement,
  failed: readonly number[],
  hasRestarted: (node: number) => boolean,
): boolean {
  const others = inSync.map(([member]) => member).filter((member) => member !== chain[0]);
  const hasEverything = (node: number): boolean => !failed.includes(node) && !hasRestarted(node);
  return (
    hasRestarted(chain[0] ?? -1) &&
    others.some((node) => failed.includes(node)) &&
    !others.some(hasEverything)
  );
}

const withoutFailed = ({ inSync, ...shard }: ShardPlacement, failed: readonly number[]): ShardPlacement => ({
  ...shard,
  ...(inSync && { inSync: inSync.filter(([member]) => !failed.includes(member)) }),
});

/** The active, whose disk lacks some of the shard, need not keep in its set a last active that is given up. */
function withoutLast(shard: ShardPlacement, failed: readonly number[]): ShardPlacement {
  const { lastActive: _, ...rest } = withoutFailed(shard, failed);
  return rest;
}

/** Only replicas have failed: the active removes them from the in-sync set. */
function withChain(shard: ShardPlacement, live: readonly number[]): ShardPlacement {
  const { incoming: before = [], successor, ...rest } = shard;
  const incoming = before.filter((node) => live.includes(node));
  const chain = live.filter((node) => !before.includes(node));
  return {
    ...rest,
    chain: paddedChain(chain, shard.chain.length),
    ...(incoming.length > 0 && { incoming }),
    ...(successor !== undefined && live.includes(successor) && { successor }),
  };
}

function promoted(
  shard: ShardPlacement,
  active: number,
  live: readonly number[],
  kept: Pick<ShardPlacement, 'inSync' | 'lastActive'>,
): ShardPlacement {
  const { confirmed: _, successor: __, stopped: ___, ...placed } = shard;
  const { incoming: ____, inSync: _____, lastActive: ______, ...rest } = placed;
  const others = live.filter((node) => node !== active);
  const incoming = others.slice(shard.chain.length - 1);
  return {
    ...rest,
    epoch: shard.epoch + 1,
    chain: paddedChain([active, ...others], shard.chain.length),
    ...(incoming.length > 0 && { incoming }),
    ...kept,
  };
}

function furthest(
  nodes: readonly number[],
  position: (node: number) => ShardPosition | null | undefined,
): number {
  const positions = nodes.map((node) => ({ node, at: position(node) ?? { epoch: -1, seqno: -1 } }));
  const [first] = positions.sort((a, b) => b.at.epoch - a.at.epoch || b.at.seqno - a.at.seqno);
  return first?.node ?? -1;
}
