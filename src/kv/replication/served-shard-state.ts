// What this process does with a shard that the map gives to its node.
import type { ShardSpec, SyncMember } from '../admin.ts';
import { isUnclaimed } from './unclaimed.ts';

interface ProcessShard {
  readonly self: SyncMember;
  /** The highest epoch of the shard that this process knows. */
  readonly epoch: number;
  /** Whether this process is the shard's active already. */
  readonly isServed: boolean;
  /**
   * The shard's vbuckets are being rolled back here, or removed because the map gave them to other nodes until now: this process serves the
   * shard once that has ended.
   */
  readonly isDropping: boolean;
}

/**
 * The state in which this process serves the shard. It is active only in an epoch that it has confirmed, or while it confirms a shard that no
 * other node has served: this was the only node, or the bucket is new.
 */
export function servedShardState(
  spec: ShardSpec,
  { epoch: knownEpoch, isDropping, isServed, self }: ProcessShard,
): ShardSpec {
  const epoch = Math.max(spec.epoch, knownEpoch);
  const isMember = spec.inSync?.some(({ boot, node }) => node === self.node && boot === self.boot) ?? false;
  if (spec.state !== 'active') return { ...spec, epoch, isOutOfSync: !isMember || isDropping };
  const isConfirmed = spec.confirmed === self.boot && epoch === spec.epoch;
  const isActive = !isDropping && (isConfirmed || (isServed && isUnclaimed(spec)));
  return isActive ? { ...spec, epoch } : { ...spec, epoch, state: 'pending' };
}
