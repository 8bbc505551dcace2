// The bucket of a simulated schedule, and what its nodes do with its documents beside serving clients: they evict and compress them, compact files,
// run out of memory, and see changes of the collections late.
import type { StoredBucket } from '#cluster/config/cluster-state.ts';
import type { Manifest } from '#kv/admin.ts';
import { Status } from '#wire/status.ts';
import { keyOf } from './a-bucket.ts';
import { manifestOf } from './manifest-of.ts';
import type { Random } from './random.ts';
import { allKeys, pick } from './schedule-keys.ts';
import type { Process, ScheduledCluster } from './scheduled-cluster.ts';

export const quotaAmple = 2 ** 28;
/** A process that is cut off from the store retries after this time. */
const retryPauseMs = 200;

const majorityOf = ({ replicaNumber }: StoredBucket): number => Math.floor((replicaNumber + 1) / 2) + 1;

/** The record of a new bucket, with the fields that the simulation needs. */
export const newRecord = (
  uuid: string,
  replicaNumber: number,
  evictionPolicy: StoredBucket['evictionPolicy'],
): StoredBucket =>
  ({
    name: 'b',
    uuid,
    incarnation: 0,
    state: 'ready',
    type: 'native',
    replicaNumber,
    evictionPolicy,
  }) as StoredBucket;

const uidOf = ({ uid }: Manifest): number => Number.parseInt(uid, 16);

export class ScheduledBucket {
  readonly compresses: boolean;
  /** The record of the present bucket; null: it is being deleted, or does not exist. */
  record: StoredBucket | null;
  uuid: string;
  /** The lowest number of nodes that have made a majority of this bucket. */
  majorityMin: number;
  readonly counts = { evicted: 0, compactions: 0, manifests: 0 };
  private readonly cluster: ScheduledCluster;
  private readonly changesCollections: boolean;
  /** Files are compacted, and tombstones purged: copies have others than their active. */
  readonly compacts: boolean;
  private readonly hasLowQuota: boolean;
  private collections = [0, 8, 9];
  private lastCollection = 9;
  private manifest = manifestOf(this.collections, 0);
  /** By node: the manifest that it has seen last. */
  private readonly seen = new Map<string, Manifest>();

  constructor(cluster: ScheduledCluster, random: Random) {
    this.cluster = cluster;
    this.record = newRecord('b0', 1 + random(2), pick(random, ['valueOnly', 'fullEviction']));
    this.uuid = this.record.uuid;
    this.majorityMin = majorityOf(this.record);
    this.compresses = random(2) === 0;
    this.changesCollections = random(2) === 0;
    this.compacts = random(2) === 0;
    this.hasLowQuota = random(2) === 0;
  }

  get replicaNumber(): number {
    return this.record?.replicaNumber ?? 0;
  }

  /** Follows the record of the bucket that is ready. `isNew`: it is another one than before, or none is left. */
  follow(record: StoredBucket | null): { isNew: boolean } {
    const isNew = record?.uuid !== this.record?.uuid;
    this.record = record;
    if (record === null) return { isNew };
    this.majorityMin = isNew ? majorityOf(record) : Math.min(this.majorityMin, majorityOf(record));
    if (record.uuid === this.uuid) return { isNew };
    this.uuid = record.uuid;
    this.collections = [0, 8, 9];
    this.lastCollection = 9;
    this.manifest = manifestOf(this.collections, 0);
    this.seen.clear();
    return { isNew };
  }

  /** Keys in the collections that exist now. */
  get keys(): string[] {
    return this.collections.flatMap((id) =>
      id === 0 ? allKeys : ['0', '1', '2'].map((name) => `${id}:${name}`),
    );
  }

  /** Tombstones of dropped collections are counted until a process starts anew. */
  get countsAllTombstones(): boolean {
    return !this.changesCollections && !this.compacts;
  }

  manifestOf(node: string, bucketUuid: string): Manifest {
    return (bucketUuid === this.uuid ? this.seen.get(node) : undefined) ?? this.manifest;
  }

  /** Called before each act of a client. */
  act(): void {
    const { cluster } = this;
    const { random } = cluster;
    for (let i = random(8); i > 0; i--) this.evict();
    if (this.changesCollections && random(150) === 0) this.changeCollections();
    const { node } = this.anyProcess() ?? {};
    if (!node?.open) return;
    if (this.compacts && random(100) === 0) {
      const ago = Math.floor(cluster.clock.wallMs() / 1000) - 2;
      node.bucket.compaction.begin({ origin: 'bucket', purgeBeforeSeconds: random(2) === 0 ? 'all' : ago });
      this.counts.compactions++;
    }
    if (this.hasLowQuota && random(20) === 0)
      node.setQuota(random(3) > 0 ? quotaAmple : 100_000 + random(100_000));
  }

  /** From now on memory is ample. */
  heal(): void {
    for (const { node } of this.cluster.running.values()) node.setQuota(quotaAmple);
  }

  private anyProcess(): Process | undefined {
    return pick(this.cluster.random, [...this.cluster.running.values()]);
  }

  private evict(): void {
    const { random, vbucketCount } = this.cluster;
    const { node } = this.anyProcess() ?? {};
    if (!node?.open) return;
    node.tick();
    const status = node.bucket.keys.evict(random(vbucketCount), keyOf(pick(random, this.keys)));
    if (status === Status.success) this.counts.evicted++;
  }

  /** Drops a collection, or creates one. */
  private changeCollections(): void {
    const { names, random } = this.cluster;
    const [, ...dropped] = this.collections;
    if (random(2) === 0 && dropped.length > 0) {
      const id = pick(random, dropped);
      this.collections = this.collections.filter((other) => other !== id);
    } else this.collections = [...this.collections, ++this.lastCollection];
    this.manifest = manifestOf(this.collections, uidOf(this.manifest) + 1);
    this.counts.manifests++;
    for (const name of names) this.seeLater(name, this.manifest, this.uuid);
  }

  private seeLater(name: string, manifest: Manifest, uuid: string): void {
    const { clock, random, running, slowness } = this.cluster;
    const see = (): void => {
      const process = running.get(name);
      if (this.uuid !== uuid) return;
      if (process?.store.isDown) clock.after(retryPauseMs, see);
      else if (uidOf(this.seen.get(name) ?? manifestOf([], -1)) < uidOf(manifest)) {
        this.seen.set(name, manifest);
        process?.node.requestApply();
      }
    };
    clock.after(random(slowness.watchMs + 1), see);
  }
}
