// The service of buckets on a cluster in memory.
import { BucketMaps } from '#cluster/buckets/bucket-maps.ts';
import { type BucketsDeps, BucketsService } from '#cluster/buckets/buckets.service.ts';
import { BucketsStore } from '#cluster/buckets/buckets.store.ts';
import { type memoryCluster, ownNodeId } from './cluster.ts';

const gib = 1024 ** 3;

/** `deps`: those that differ from the enterprise edition with the published names, on a disk with room. */
export const bucketsServiceOn = (
  cluster: Awaited<ReturnType<typeof memoryCluster>>,
  deps: Partial<BucketsDeps> = {},
): BucketsService =>
  new BucketsService({
    isReplicated: () => false,
    ...cluster,
    store: new BucketsStore(cluster.store),
    maps: new BucketMaps(cluster.store, ownNodeId),
    disk: async () => ({ totalBytes: 100 * gib, usedBytes: 40 * gib }),
    edition: 'enterprise',
    wireNames: 'branded',
    ...deps,
  });
