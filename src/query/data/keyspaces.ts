// The buckets, scopes and collections of the cluster, for synchronous lookups by the planner.
import type { Keyspace, KeyspaceName } from '#sqlpp/datastore/keyspace.ts';

export interface BucketState {
  readonly name: string;
  readonly uuid: string;
  /** Incremented by every flush. */
  readonly incarnation: number;
  /** The stored name of the type; a bucket of the type `cache` has no collections. */
  readonly type: string;
  readonly scopes: readonly {
    readonly name: string;
    /** Lower-case hex. */
    readonly uid: string;
    readonly collections: readonly { readonly name: string; readonly uid: string }[];
  }[];
}

export class Keyspaces {
  /** Incremented by every change. */
  revision = 0;
  private buckets = new Map<string, BucketState>();

  set(buckets: readonly BucketState[]): void {
    this.buckets = new Map(buckets.map((bucket) => [bucket.name, bucket]));
    this.revision++;
  }

  all(): BucketState[] {
    return [...this.buckets.values()];
  }

  bucket(name: string): BucketState | undefined {
    return this.buckets.get(name);
  }

  find(name: KeyspaceName): Keyspace | 'no bucket' | 'no scope' | 'no collection' {
    const bucket = this.buckets.get(name.bucket);
    if (bucket === undefined) return 'no bucket';
    const scope = bucket.scopes.find((candidate) => candidate.name === name.scope);
    if (scope === undefined) return 'no scope';
    const collection = scope.collections.find((candidate) => candidate.name === name.collection);
    if (collection === undefined) return 'no collection';
    return {
      name,
      bucketUuid: bucket.uuid,
      scopeId: Number.parseInt(scope.uid, 16),
      collectionId: Number.parseInt(collection.uid, 16),
    };
  }
}

export const collectionName = (bucket: string, scope: string, collection: string): KeyspaceName => ({
  namespace: 'default',
  bucket,
  scope,
  collection,
});
