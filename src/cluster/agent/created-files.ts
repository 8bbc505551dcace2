// Stores in the configuration which buckets have had files on this node: if the folder of such a bucket is missing or empty, its
// files are lost. Without this mark the data service would create new files, and the bucket would be empty.
import type { BucketReport, BucketSpec } from '#kv/admin.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { update } from '#replog/config-store.ts';

/** `ClusterView` does not watch this key, so a change raises no revision that clients see. */
const madeKey = 'files/made';

export class CreatedFiles {
  readonly #store: ConfigStore;
  #uuids: ReadonlySet<string> | null = null;

  constructor(store: ConfigStore) {
    this.#store = store;
  }

  async mark(buckets: readonly BucketSpec[]): Promise<BucketSpec[]> {
    const uuids = await this.#known();
    return buckets.map((bucket) => ({ ...bucket, wasMade: uuids.has(bucket.uuid) }));
  }

  /** Adds buckets that have files now, and removes deleted ones. */
  async keep(buckets: readonly BucketSpec[], reports: readonly BucketReport[]): Promise<void> {
    const known = await this.#known();
    const found = new Set(reports.filter(hasFiles).map(({ uuid }) => uuid));
    const wanted = buckets
      .filter(({ uuid, type }) => type === 'native' && (known.has(uuid) || found.has(uuid)))
      .map(({ uuid }) => uuid);
    if (wanted.length === known.size && wanted.every((uuid) => known.has(uuid))) return;
    await update<string[]>(this.#store, madeKey, [], () => wanted, { freesSpace: true });
    this.#uuids = new Set(wanted);
  }

  async #known(): Promise<ReadonlySet<string>> {
    this.#uuids ??= new Set((await this.#store.get<string[]>(madeKey))?.value);
    return this.#uuids;
  }
}

const hasFiles = ({ state, damaged, warmUp }: BucketReport): boolean =>
  state !== 'failed' && damaged.length === 0 && warmUp?.state !== 'opening';
