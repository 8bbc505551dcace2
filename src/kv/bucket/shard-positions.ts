// How far this node's copies of a bucket's shards have come.
import type { ShardPosition } from '../admin.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import type { VbucketColumns } from '../vbucket/columns.ts';

/** One entry per shard; null where this node has no copy. */
export function shardPositions(columns: VbucketColumns, shardCount: number): (ShardPosition | null)[] {
  return Array.from({ length: shardCount }, (_, shard) => {
    let epoch = Infinity;
    let seqno = 0;
    for (const vb of vbsOfShard(columns.count, shardCount, shard)) {
      if (columns.state[vb] === VbucketState.dead) return null;
      epoch = Math.min(epoch, columns.epoch[vb] as number);
      seqno += columns.highSeqno[vb] as number;
    }
    return epoch === Infinity ? null : { epoch, seqno };
  });
}

/** The vbuckets of a shard. */
export function vbsOfShard(count: number, shardCount: number, shard: number): number[] {
  const vbs: number[] = [];
  for (let vb = shard; vb < count; vb += shardCount) vbs.push(vb);
  return vbs;
}
