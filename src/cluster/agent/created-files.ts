// Stores in the configuration which buckets have had files on this node: if the folder of such a bucket is missing or empty, its
// files are lost. Without this mark the data service would create new files, and the bucket would be empty. Files of buckets that were deleted
// while this node did not run are found by the mark, too.
import type { BucketReport, BucketSpec, KvDesired } from '#kv/admin.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { update } from '#replog/config-store.ts';
import {
  type BucketsState,
  bucketsKey,
  type ClusterState,
  clusterKey,
  noBuckets,
} from '../config/cluster-state.ts';

/** `ClusterView` does not watch these keys, so a change raises no revision that clients see. */
const keyOf = (nodeId: string): string => `files/made/${nodeId}`;
/** The key in versions whose clusters had one node only. */
const olderKey = 'files/made';

/** Deletes the record of the files of a node, which has removed them or is about to. */
export async function deleteFilesRecord(store: ConfigStore, nodeId: string): Promise<void> {
  const entry = await store.get(keyOf(nodeId));
  if (entry !== null) await store.delete(entry.key, entry.revision);
}

type RecordedBuckets = Pick<KvDesired, 'buckets' | 'deletedBuckets'>;

export class CreatedFiles {
  readonly #store: ConfigStore;
  readonly #nodeId: string;
  /** The buckets of the record; null before it was read. */
  #uuids: ReadonlySet<string> | null = null;

  constructor(store: ConfigStore, nodeId: string) {
    this.#store = store;
    this.#nodeId = nodeId;
  }

  /** Sets `filesExisted` of each bucket. */
  async mark(buckets: readonly BucketSpec[]): Promise<BucketSpec[]> {
    const uuids = await this.#recordedUuids();
    return buckets.map((bucket) => ({ ...bucket, filesExisted: uuids.has(bucket.uuid) }));
  }

  /**
   * The uuids of buckets with files on this node whose records were deleted already: no node waited for this one, which was failed over. `seen`
   * are the buckets as this node has seen them, which may be an older state: a write proves that they do not exist.
   */
  async ofDeletedBuckets(seen: BucketsState): Promise<string[]> {
    const recorded = [...(await this.#recordedUuids())];
    if (recorded.every((uuid) => uuid in seen.byUuid)) return [];
    const options = { freesSpace: true };
    const { value } = await update(this.#store, bucketsKey, noBuckets(0), (state) => state, options);
    return recorded.filter((uuid) => !(uuid in value.byUuid));
  }

  /** Adds buckets that have files now, and removes deleted ones. */
  async record(
    { buckets, deletedBuckets }: RecordedBuckets,
    reports: readonly BucketReport[],
  ): Promise<void> {
    const recorded = await this.#recordedUuids();
    const found = new Set(reports.filter(hasFiles).map(({ uuid }) => uuid));
    const made = buckets.filter(({ uuid, type }) => type === 'native' && found.has(uuid));
    const marked = new Set([...recorded, ...made.map(({ uuid }) => uuid)]);
    const wanted = [...marked].filter((uuid) => !deletedBuckets.includes(uuid));
    if (wanted.length === recorded.size && wanted.every((uuid) => recorded.has(uuid))) return;
    await update<string[]>(this.#store, keyOf(this.#nodeId), [], () => wanted, { freesSpace: true });
    this.#uuids = new Set(wanted);
  }

  async #recordedUuids(): Promise<ReadonlySet<string>> {
    this.#uuids ??= new Set(await this.#stored());
    return this.#uuids;
  }

  /** The older key belongs to the node that was the only one: the founder, if others were added since. */
  async #stored(): Promise<readonly string[]> {
    const entry = await this.#store.get<string[]>(keyOf(this.#nodeId));
    if (entry !== null) return entry.value;
    const { nodes = [], founder } = (await this.#store.get<ClusterState>(clusterKey))?.value ?? {};
    const wasAlone = nodes.length < 2 || founder === this.#nodeId;
    return wasAlone ? ((await this.#store.get<string[]>(olderKey))?.value ?? []) : [];
  }
}

const hasFiles = ({ state, damaged, warmUp }: BucketReport): boolean =>
  state !== 'failed' && damaged.length === 0 && warmUp?.state !== 'opening';
