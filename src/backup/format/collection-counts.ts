// How many documents of each collection a backup has: counted by vbucket while it is written, stored in the manifest for the bucket.
import type { BucketRecord, CountedVbucket } from './manifest.ts';

/** The record with its counts; without counts if an earlier release captured one of the vbuckets and did not count. Dropped collections are left out. */
export function countedBucket(
  record: Omit<BucketRecord, 'vbuckets'>,
  counted: readonly CountedVbucket[],
): BucketRecord {
  const vbuckets = counted.map(({ collections: _counts, ...vbucket }) => vbucket);
  if (counted.some(({ collections, documents }) => collections === undefined && documents > 0))
    return { ...record, vbuckets };
  const totals = new Map<string, number>();
  for (const { collections = {} } of counted)
    for (const [id, documents] of Object.entries(collections))
      totals.set(id, (totals.get(id) ?? 0) + documents);
  const collections = record.collections.map((collection) => ({
    ...collection,
    documents: totals.get(String(collection.id)) ?? 0,
  }));
  return { ...record, collections, vbuckets };
}
