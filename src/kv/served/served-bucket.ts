// A bucket as the pipeline sees it: its documents once they are loaded, its collections, its configuration, and the
// clients that wait for its durable writes.
import { Histogram } from '#base/histogram.ts';
import { Status } from '#wire/status.ts';
import { type BucketActivity, type DocumentCounts, type EngineActivity, operationsOf } from '../activity.ts';
import type { BucketReport, BucketSpec, CompactionReport, WarmUpReport } from '../admin.ts';
import type { BucketKeys } from '../bucket/bucket-keys.ts';
import type { Timings } from '../bucket/timings.ts';
import { Collections } from '../collections/collections.ts';
import { Tally } from '../collections/tally.ts';
import type { ChangeSource } from '../data/change-source.ts';
import type { Documents } from '../data/documents.ts';
import type { VbucketFigures } from '../vbucket/figures.ts';
import type { HeldReply } from './held-reply.ts';
import { Producers } from './producers.ts';
import { Scans } from './scans.ts';

/** What counts in a bucket's statistics beside what commands count. */
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
  | 'collectionItems'
>;

/** What the pipeline needs of a bucket's engine beside its documents. */
export interface BucketEngine {
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
  collectionItems: {},
};

const noEngineActivity = (): EngineActivity => ({
  tombstones: 0,
  queued: 0,
  memoryRefusals: 0,
  failedCommits: 0,
  dirtyBytes: 0,
  memory: { items: 0, meta: 0, overhead: 0 },
  commit: noDurations(),
  fetchWait: noDurations(),
  fetch: noDurations(),
});
const noDurations = () => new Histogram().figures();

export class ServedBucket {
  readonly name: string;
  readonly uuid: string;
  spec: BucketSpec;
  collections: Collections;
  config: Buffer;
  /** Null until the documents can be read. */
  documents: Documents | null = null;
  engine: BucketEngine | null = null;
  /** How far the start is, also before `engine` is there; null in buckets without a disk. */
  warmUp: () => WarmUpReport | null = () => null;
  readonly tally = new Tally();
  readonly producers = new Producers();
  readonly scans = new Scans();
  private readonly waiting = new Map<number, HeldReply>();
  /** Two words for each vbucket: its uuid once that was asked for, before that zeros. */
  private uuids = new Uint32Array(0);

  constructor(spec: BucketSpec) {
    this.name = spec.name;
    this.uuid = spec.uuid;
    this.spec = spec;
    this.collections = new Collections(spec.manifest);
    this.config = Buffer.from(spec.clusterConfig.json);
  }

  /** Takes over a changed specification; answers whether the cluster configuration is another one. */
  update(spec: BucketSpec): boolean {
    const { json } = this.spec.clusterConfig;
    if (spec.manifest.uid !== this.spec.manifest.uid) {
      this.collections = new Collections(spec.manifest);
      this.tally.keepOnly(this.collections);
    }
    this.spec = spec;
    if (spec.clusterConfig.json === json) return false;
    this.config = Buffer.from(spec.clusterConfig.json);
    return true;
  }

  /** The documents can be read from now on. */
  open(engine: BucketEngine): void {
    this.engine = engine;
    this.documents = engine.documents;
    this.uuids = new Uint32Array(2 * engine.documents.vbucketCount);
    engine.documents.onResolved = (token, status) => this.settle(token, status);
  }

  /** The documents cannot be read any more; who waits is told that the outcome is open. */
  close(): void {
    this.documents = null;
    this.engine = null;
    this.producers.sourceGone();
    this.scans.clear();
    for (const token of [...this.waiting.keys()]) this.settle(token, Status.syncWriteAmbiguous);
  }

  /** Has the reply sent once the durable write with this token is settled. */
  awaitSettled(token: number, held: HeldReply): void {
    this.waiting.set(token, held);
  }

  /** The uuid of the vbucket’s present life: its high word; `uuidLo` is to be asked for after it. */
  uuidHi(vb: number): number {
    if ((this.uuids[2 * vb + 1] ?? 0) === 0) this.lookUpUuid(vb);
    return this.uuids[2 * vb] ?? 0;
  }
  uuidLo(vb: number): number {
    return this.uuids[2 * vb + 1] ?? 0;
  }

  report(): EngineFigures & DocumentCounts & { ops: number } {
    const counts = this.tally.total();
    return { ...(this.engine?.figures() ?? noFigures), ...counts, ops: operationsOf(counts) };
  }

  activity(): BucketActivity {
    return {
      ...(this.engine?.activity() ?? noEngineActivity()),
      collections: this.tally.collections(),
      streams: this.producers.figures(),
    };
  }

  /** It changes only while the documents are closed, so once is enough. */
  private lookUpUuid(vb: number): void {
    const newest = this.documents?.failoverLog(vb)[0];
    this.uuids[2 * vb] = newest?.uuidHi ?? 0;
    this.uuids[2 * vb + 1] = newest?.uuidLo ?? 0;
  }

  private settle(token: number, status: Status): void {
    const held = this.waiting.get(token);
    this.waiting.delete(token);
    held?.settle(status);
  }
}
