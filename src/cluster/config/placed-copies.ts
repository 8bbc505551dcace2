// How many copies of a bucket's documents are placed on nodes: a raised `replicaNumber` counts for durable writes once a rebalance has placed the
// copies, as in the published server; a lowered one counts at once.
import type { BucketMap, BucketsState, StoredBucket } from './cluster-state.ts';

type Copies = Pick<StoredBucket, 'placedReplicas' | 'replicaNumber'>;

/** How many copies count for durable writes. */
export const durabilityCopies = ({ placedReplicas, replicaNumber }: Copies): number =>
  Math.min(placedReplicas ?? replicaNumber, replicaNumber);

/** The bucket with a changed number of copies, which no rebalance has placed yet. */
export function withReplicaNumber(bucket: StoredBucket, replicaNumber: number): StoredBucket {
  const { placedReplicas: before, ...rest } = bucket;
  const placedReplicas = before ?? bucket.replicaNumber;
  return { ...rest, replicaNumber, ...(placedReplicas !== replicaNumber && { placedReplicas }) };
}

interface MappedBucket {
  readonly bucket: StoredBucket;
  readonly entry: { readonly value: BucketMap };
}

/** The buckets after a rebalance that may have placed their copies. */
export function withPlacedCopies(state: BucketsState, mapped: readonly MappedBucket[]): BucketsState {
  const byUuid = { ...state.byUuid };
  for (const { bucket, entry } of mapped)
    if (arePlaced(bucket, entry.value)) {
      const { placedReplicas: _, ...placed } = bucket;
      byUuid[bucket.uuid] = placed;
    }
  return { ...state, byUuid };
}

const arePlaced = ({ placedReplicas, replicaNumber }: Copies, { shards }: BucketMap): boolean =>
  placedReplicas !== undefined && shards.every(({ chain }) => chain.length === replicaNumber + 1);
