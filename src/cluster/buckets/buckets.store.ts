// The key that holds all buckets: every change of a name, a quota or a state is a compare-and-set of it.
import type { ChangeOptions, ConfigStore } from '#replog/config-store.ts';
import { update } from '#replog/config-store.ts';
import { type BucketsState, bucketsKey, noBuckets, type StoredBucket } from '../config/cluster-state.ts';

export class BucketsStore {
  readonly #store: ConfigStore;

  constructor(store: ConfigStore) {
    this.#store = store;
  }

  /** `change` may throw; then nothing is written. */
  change(
    change: (state: BucketsState) => BucketsState,
    options?: ChangeOptions,
  ): Promise<{ value: BucketsState; revision: number }> {
    return update(this.#store, bucketsKey, noBuckets(0), change, options);
  }

  /** Resolves with null if the bucket is deleted or being deleted. */
  async changeBucket(
    uuid: string,
    change: (bucket: StoredBucket, state: BucketsState) => StoredBucket,
    options?: ChangeOptions,
  ): Promise<{ value: BucketsState; revision: number } | null> {
    let found = true;
    const result = await this.change((state) => {
      const bucket = state.byUuid[uuid];
      found = bucket?.state === 'ready';
      return bucket && found ? withBucket(state, change(bucket, state)) : state;
    }, options);
    return found ? result : null;
  }
}

export const withBucket = (state: BucketsState, bucket: StoredBucket): BucketsState => ({
  ...state,
  byUuid: { ...state.byUuid, [bucket.uuid]: bucket },
});
