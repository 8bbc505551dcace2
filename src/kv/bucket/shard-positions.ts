// How far this node's copies of a bucket's shards are.
import type { ShardPosition } from '../admin.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import type { VbucketRows } from '../vbucket/rows.ts';

/** One entry per shard; null where this node has no copy. */
export function shardPositions(rows: VbucketRows, shardCount: number): (ShardPosition | null)[] {
  return Array.from({ length: shardCount }, (_, shard) => {
    let epoch = Infinity;
    let seqno = 0;
    for (let row = shard; row < rows.count; row += shardCount) {
      if (rows.state[row] === VbucketState.dead) return null;
      epoch = Math.min(epoch, rows.epoch[row] as number);
      seqno += rows.highSeqno[row] as number;
    }
    return epoch === Infinity ? null : { epoch, seqno };
  });
}
