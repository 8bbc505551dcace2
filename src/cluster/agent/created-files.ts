// Stores in the configuration which buckets have had files on this node: if the folder of such a bucket is missing or empty, its
// files are lost. Without this mark the data service would create new files, and the bucket would be empty.
import type { BucketReport, BucketSpec } from '#kv/admin.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { update } from '#replog/config-store.ts';
import { type ClusterState, clusterKey } from '../config/cluster-state.ts';

/** `ClusterView` does not watch these keys, so a change raises no revision that clients see. */
const keyOf = (nodeId: string): string => `files/made/${nodeId}`;
/** The key in versions whose clusters had one node only. */
const olderKey = 'files/made';

/** Deletes the record of the files of a node, which has removed them or is about to. */
export async function deleteFilesRecord(store: ConfigStore, nodeId: string): Promise<void> {
  const entry = await store.get(keyOf(nodeId));
  if (entry !== null) await store.delete(entry.key, entry.revision);
}

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

  /** Adds buckets that have files now, and removes deleted ones. */
  async record(buckets: readonly BucketSpec[], reports: readonly BucketReport[]): Promise<void> {
    const recorded = await this.#recordedUuids();
    const found = new Set(reports.filter(hasFiles).map(({ uuid }) => uuid));
    const wanted = buckets
      .filter(({ uuid, type }) => type === 'native' && (recorded.has(uuid) || found.has(uuid)))
      .map(({ uuid }) => uuid);
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
