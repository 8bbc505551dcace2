// A bucket as the dispatcher and the commands use it: its documents once they are loaded, its collections, its configuration,
// its change stream connections and scans, and the held replies of its durable writes.
import { createHash } from 'node:crypto';
import { DurationHistogram } from '#base/duration-histogram.ts';
import { Status } from '#wire/status.ts';
import type { BucketActivity, EngineActivity } from '../activity.ts';
import type { BucketReport, BucketSpec, CompactionReport, WarmUpReport } from '../admin.ts';
import type { BucketKeys } from '../bucket/keys/bucket-keys.ts';
import type { Timings } from '../bucket/timings.ts';
import { CollectionCounts } from '../collections/collection-counts.ts';
import { Collections } from '../collections/collections.ts';
import type { ChangeSource } from '../data/change-source.ts';
import type { Documents } from '../data/documents.ts';
import { type DocumentCounts, operationsOf } from '../document-counts.ts';
import type { VbucketFigures } from '../vbucket/figures.ts';
import type { Vbuckets } from '../vbucket/vbuckets.ts';
import type { HeldReply } from './held-reply.ts';
import { Producers } from './producers.ts';
import { Scans } from './scans.ts';

/** Statistics of a bucket that its engine reports; commands count the rest. */
export type EngineFigures = Pick<
  BucketReport,
  | 'items'
  | 'memUsed'
  | 'dataBytes'
  | 'diskBytes'
  | 'freeDiskBytes'
  | 'dirtyItems'
  | 'diskFetches'
  | 'evictions'
  | 'expired'
  | 'nonResident'
  | 'vbuckets'
  | 'collectionItems'
>;

/** Where threads beside the data thread find documents. */
export type EngineMemory = Pick<
  Vbuckets,
  'columns' | 'hash' | 'hashSeed' | 'heap' | 'index' | 'items' | 'locate'
>;

/** The engine of a bucket: its documents, changes, keys and statistics. */
export interface BucketEngine {
  readonly memory: EngineMemory;
  readonly documents: Documents;
  /** Null in buckets that keep no history. */
  readonly changes: ChangeSource | null;
  figures(): EngineFigures;
  activity(): EngineActivity;
  readonly keys: BucketKeys;
  readonly timings: Timings;
  readonly compaction: { readonly progress: CompactionReport | null };
  vbucketFigures(vb: number): VbucketFigures;
}

const none = { vbuckets: 0, items: 0 };
const noVbuckets = { active: none, replica: none, pending: none };
const noFigures: EngineFigures = {
  items: 0,
  memUsed: 0,
  dataBytes: 0,
  diskBytes: 0,
  freeDiskBytes: 0,
  dirtyItems: 0,
  diskFetches: 0,
  evictions: 0,
  expired: 0,
  nonResident: 0,
  vbuckets: noVbuckets,
  collectionItems: {},
};

const noEngineActivity = (): EngineActivity => ({
  tombstones: 0,
  queued: 0,
  memoryRefusals: 0,
  failedCommits: 0,
  dirtyBytes: 0,
  drift: { active: noDrift(), replica: noDrift() },
  memory: { items: 0, meta: 0, overhead: 0 },
  compression: { visited: 0, compressed: 0 },
  commit: noDurations(),
  fetchWait: noDurations(),
  fetch: noDurations(),
});
const noDrift = () => ({ us: 0, writes: 0, ahead: 0, behind: 0 });
const noDurations = () => new DurationHistogram().figures();

export class ServedBucket {
  readonly name: string;
  readonly uuid: string;
  spec: BucketSpec;
  collections: Collections;
  config: Buffer;
  /** Null until the documents can be read. */
  documents: Documents | null = null;
  engine: BucketEngine | null = null;
  /** Progress of the warm-up, available before `engine` is set; null in buckets without a disk. */
  warmUp: () => WarmUpReport | null = () => null;
  readonly collectionCounts = new CollectionCounts();
  readonly producers = new Producers();
  readonly scans = new Scans();
  /** One number, which ends what other threads were granted: they may no longer read the bucket's memory. */
  readonly revocations = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  /** Called at each revocation. */
  readonly revoked = new Set<() => void>();
  private readonly heldReplies = new Map<number, HeldReply>();
  /** Cache of vbucket uuids, two words each; zeros until the uuid is looked up. */
  private uuids = new Uint32Array(0);
  private historiesDigest = '';

  constructor(spec: BucketSpec) {
    this.name = spec.name;
    this.uuid = spec.uuid;
    this.spec = spec;
    this.collections = new Collections(spec.manifest);
    this.config = Buffer.from(spec.clusterConfig.json);
  }

  /** Applies a changed spec; returns whether the cluster configuration changed. */
  update(spec: BucketSpec): boolean {
    const { json } = this.spec.clusterConfig;
    if (spec.manifest.uid !== this.spec.manifest.uid) {
      this.collections = new Collections(spec.manifest);
      this.revoke();
      this.collectionCounts.keepOnly(this.collections);
    }
    this.spec = spec;
    if (spec.clusterConfig.json === json) return false;
    this.config = Buffer.from(spec.clusterConfig.json);
    return true;
  }

  /** The documents can be read. */
  open(engine: BucketEngine): void {
    this.engine = engine;
    this.documents = engine.documents;
    this.uuids = new Uint32Array(2 * engine.documents.vbucketCount);
    this.historiesDigest = '';
    engine.documents.onResolved = (token, status) => this.resolveHeld(token, status);
  }

  /** Other vbuckets are active here than before, or some have new uuids. */
  statesChanged(): void {
    this.uuids.fill(0);
    this.historiesDigest = '';
  }

  /** The documents can no longer be read. Pending durable writes are answered with an ambiguous outcome. */
  close(): void {
    this.documents = null;
    this.engine = null;
    this.revoke();
    this.producers.sourceGone();
    this.scans.clear();
    for (const token of [...this.heldReplies.keys()]) this.resolveHeld(token, Status.syncWriteAmbiguous);
  }

  private revoke(): void {
    Atomics.add(this.revocations, 0, 1);
    for (const note of this.revoked) note();
  }

  /** Holds the reply until the outcome of the durable write with this token is known. */
  holdUntilDurable(token: number, heldReply: HeldReply): void {
    this.heldReplies.set(token, heldReply);
  }

  /** High word of the vbucket's current uuid. Call it before `uuidLo`, which does not look the uuid up. */
  uuidHi(vb: number): number {
    if ((this.uuids[2 * vb + 1] ?? 0) === 0) this.lookUpUuid(vb);
    return this.uuids[2 * vb] ?? 0;
  }
  uuidLo(vb: number): number {
    return this.uuids[2 * vb + 1] ?? 0;
  }

  /** A digest of the active vbuckets and the newest uuid of each: another one means that a history changed. */
  get historyDigest(): string {
    if (this.historiesDigest === '') this.historiesDigest = digestOf(this.documents);
    return this.historiesDigest;
  }

  report(): EngineFigures & DocumentCounts & { ops: number } {
    const counts = this.collectionCounts.total();
    return { ...(this.engine?.figures() ?? noFigures), ...counts, ops: operationsOf(counts) };
  }

  activity(): BucketActivity {
    return {
      ...(this.engine?.activity() ?? noEngineActivity()),
      collections: this.collectionCounts.collections(),
      streams: this.producers.figures(),
    };
  }

  /** Looked up once: `statesChanged` is called when a uuid changes. */
  private lookUpUuid(vb: number): void {
    const newest = this.documents?.failoverLog(vb)[0];
    this.uuids[2 * vb] = newest?.uuidHi ?? 0;
    this.uuids[2 * vb + 1] = newest?.uuidLo ?? 0;
  }

  private resolveHeld(token: number, status: Status): void {
    const heldReply = this.heldReplies.get(token);
    this.heldReplies.delete(token);
    heldReply?.resolve(status);
  }
}

function digestOf(documents: Documents | null): string {
  const hash = createHash('sha256');
  for (let vb = 0; vb < (documents?.vbucketCount ?? 0); vb++) {
    const newest = documents?.isActive(vb) ? documents.failoverLog(vb)[0] : undefined;
    hash.update(`${newest?.uuidHi ?? 0} ${newest?.uuidLo ?? 0}\n`);
  }
  return hash.digest('hex');
}
