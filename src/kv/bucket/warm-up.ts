// Loads a bucket's memory from its files and restores the failover logs of its vbuckets. A file that cannot be read to its
// end is not served, the others are.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import type { WarmUpReport } from '../admin.ts';
import {
  type BucketFiles,
  type CutBuffer,
  type DamagedFile,
  DamagedFileError,
  type DiskEngine,
  type LargeItems,
  type OpenedFile,
  type OpenResult,
  type VbucketRecord,
} from '../data/disk-engine.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import { raiseCas } from '../vbucket/cas-clock.ts';
import type { EventRecorder } from '../vbucket/event-recorder.ts';
import type { LiveCollections } from '../vbucket/live-collections.ts';
import { Loader } from '../vbucket/loader.ts';
import type { Residency } from '../vbucket/residency.ts';
import { makesSeqnos } from '../vbucket/serving.ts';
import type { Vbuckets } from '../vbucket/vbuckets.ts';
import { endSnapshot, wholeSeqno } from '../vbucket/whole-seqno.ts';
import { vbucketsOfFile } from './durability/file-state.ts';

/** After a crash, clients may have CAS values that no file records: new values start above them. */
const casJumpAfterCrash = 2 ** 24;
/** Pauses between attempts to open the files while the disk has no space for that; each is twice as long as the one before. */
const openRetryMs = { first: 500, max: 8_000 };
/** The most boots that the files keep. They are those of processes that stopped in a row, before any of them joined the in-sync sets again. */
const stoppedBootsMax = 8;

export interface WarmUpOptions {
  disk: DiskEngine;
  files: BucketFiles;
  vbuckets: Vbuckets;
  collections: LiveCollections;
  residency: Residency;
  events: EventRecorder;
  random: Random;
  clock: Clock;
  log: Log;
  /** Memory is above the low watermark: values that no client requested stay on disk. */
  isFull: () => boolean;
}

export interface WarmUpResult {
  damaged: DamagedFile[];
  /** Vbuckets whose file is readable. */
  readable: number[];
  /** Vbuckets with a new failover entry after a crash, which must be written to their file before they are served. */
  changed: number[];
  /** The processes whose memory is all in these files, because each stopped cleanly; none: the files may lack something. */
  stoppedBoots: readonly string[];
}

/**
 * Loads every key with its metadata first, with the value where it is stored in the row; then the bucket is served. Large
 * values follow while memory has room; a client that reads one earlier has it fetched.
 */
export class WarmUp {
  state: WarmUpReport['state'] = 'opening';
  private readonly options: WarmUpOptions;
  private readonly loader: Loader;
  private readonly startedMs: number;
  private keysMs: number | null = null;
  private doneMs: number | null = null;
  private noSpace: string | null = null;
  /** Live documents of active vbuckets in the files, by the files' own counts when the warm-up began. */
  expectedItems = 0;
  private expectedKeys = 0;
  private readonly stopping = new AbortController();
  private running: Promise<unknown> = Promise.resolve();

  constructor(options: WarmUpOptions) {
    this.options = options;
    this.loader = new Loader(options);
    this.startedMs = options.clock.monotonicMs();
  }

  /** Ids of dropped collections that may still have documents. */
  get gone(): Set<number> {
    return this.loader.gone;
  }

  get isStopped(): boolean {
    return this.stopping.signal.aborted;
  }

  report(): WarmUpReport {
    const { loader } = this;
    const elapsed = (endMs: number | null): number =>
      (endMs ?? this.options.clock.monotonicMs()) - this.startedMs;
    return {
      state: this.state,
      ...(this.noSpace !== null && { noSpace: this.noSpace }),
      keys: loader.keys,
      values: loader.values,
      expected: this.expectedKeys,
      keysMs: elapsed(this.keysMs),
      ms: elapsed(this.doneMs),
    };
  }

  /** Stops the warm-up; resolves when reads under way have ended. */
  async stop(): Promise<void> {
    this.noSpace = null;
    this.stopping.abort(new Error('the bucket stops'));
    await this.running;
  }

  /** Waits for disk space where that is missing. Throws when stopped meanwhile. */
  async open(): Promise<OpenResult> {
    const { clock, disk, files } = this.options;
    for (let pauseMs = openRetryMs.first; ; pauseMs = Math.min(2 * pauseMs, openRetryMs.max)) {
      const result = await disk.open(files);
      if (result.noSpace) this.stopping.signal.throwIfAborted();
      this.noteSpace(result);
      if (result.noSpace === undefined) return result;
      await clock.sleep(pauseMs, this.stopping.signal);
    }
  }

  private noteSpace({ noSpace }: OpenResult): void {
    const { bucketUuid } = this.options.files;
    if (noSpace && this.noSpace === null)
      this.options.log.error('bucket.open.disk_full', { bucketUuid, ...noSpace });
    if (!noSpace && this.noSpace !== null) this.options.log.info('bucket.open.has_space', { bucketUuid });
    this.noSpace = noSpace ? `${noSpace.path}: ${noSpace.reason}` : null;
  }

  /** Loads all keys. Throws when stopped meanwhile. */
  readKeys({ opened, damaged }: OpenResult): Promise<WarmUpResult> {
    const records = opened.flatMap((file) => file.vbuckets);
    this.state = 'keys';
    const { state } = this.options.vbuckets.columns;
    this.expectedKeys = 0;
    this.expectedItems = 0;
    for (const record of records) {
      this.expectedKeys += keysOf(record);
      if (state[record.vb] === VbucketState.active) this.expectedItems += record.items;
    }
    const result: WarmUpResult = { damaged: [...damaged], readable: [], changed: [], stoppedBoots: [] };
    const files = opened.map((file) => this.readFile(file, result));
    // The first file that is stopped ends the promise of all, while the others would still remove what they have loaded.
    this.running = Promise.allSettled(files).then(() => {});
    return Promise.all(files).then(() => {
      this.keysMs = this.options.clock.monotonicMs();
      result.stoppedBoots = stoppedBootsOf({ opened, damaged: result.damaged });
      return result;
    });
  }

  /** Loads the large values that `readKeys` left on disk. A file that cannot be read is logged, and the next one is read. */
  readValues(): void {
    this.state = 'values';
    this.running = this.loader.valuesOnDisk > 0 ? this.readAllValues() : this.end();
  }

  private async readAllValues(): Promise<void> {
    const { files, log } = this.options;
    for (let file = 0; file < files.fileCount && !this.isStopped; file++) {
      try {
        await this.readValuesOf(file);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        log.error('bucket.values_not_read', { bucketUuid: files.bucketUuid, file, reason });
      }
    }
    await this.end();
  }

  private async end(): Promise<void> {
    this.state = 'done';
    this.doneMs = this.options.clock.monotonicMs();
  }

  private async readValuesOf(file: number): Promise<void> {
    const { disk, files, isFull } = this.options;
    let after: number | null = 0;
    while (after !== null && !isFull()) {
      const page: LargeItems = await disk.largeItems(files.bucketUuid, file, after);
      if (this.isStopped) return;
      this.loader.loadValues(page.batch);
      after = page.next;
    }
  }

  private async readFile(file: OpenedFile, result: WarmUpResult): Promise<void> {
    const { files, vbuckets } = this.options;
    const ofFile = vbucketsOfFile(file.file, files.fileCount, vbuckets.columns.count);
    const records = new Map(file.vbuckets.map((record) => [record.vb, record]));
    const changed = ofFile.filter((vb) => restoreState(this.options, vb, records.get(vb), file.clean));
    for (const record of file.vbuckets) this.loader.expect(record.vb, keysOf(record));
    try {
      await this.load(file.file);
    } catch (error) {
      for (const vb of ofFile) vbuckets.drop(vb);
      if (!(error instanceof DamagedFileError)) throw error;
      result.damaged.push({ file: error.file, path: error.path, reason: error.reason });
      return;
    }
    result.readable.push(...ofFile);
    result.changed.push(...changed);
  }

  private async load(file: number): Promise<void> {
    const { disk, files, isFull } = this.options;
    const loadBatch = (batch: CutBuffer): void => {
      this.stopping.signal.throwIfAborted();
      this.loader.load(batch);
    };
    await disk.load(files.bucketUuid, file, loadBatch, () => (isFull() ? 'none' : 'small'));
  }
}

/** Files of earlier versions may have a count of tombstones that fell below zero: it is then near 2^32. */
const keysOf = ({ deleted, items }: VbucketRecord): number => items + (deleted < 2 ** 31 ? deleted : 0);

/** What the files note when this process stops cleanly. */
export function closedBy(boot: string | undefined, earlier: readonly string[]): string | undefined {
  if (boot === undefined) return undefined;
  return [...new Set([boot, ...earlier])].slice(0, stoppedBootsMax).join(',');
}

/** The boots of the process that closed all of the files cleanly, and of those that it continued; empty: no process did. */
export function stoppedBootsOf({ damaged, opened }: Pick<OpenResult, 'damaged' | 'opened'>): string[] {
  const by = opened[0]?.closedBy ?? null;
  const isClean = damaged.length === 0 && opened.every(({ clean, closedBy }) => clean && closedBy === by);
  return by !== null && isClean ? by.split(',') : [];
}

/** Whether an earlier engine had these files open. */
export const wereUsed = ({ opened }: Pick<OpenResult, 'opened'>): boolean =>
  opened.some(({ clean, closedBy, vbuckets }) => !clean || closedBy !== null || vbuckets.length > 0);

/**
 * Only an active vbucket begins a new history: after a crash, and where it was a copy inside of a snapshot. Returns whether a new failover entry
 * must be written to the file. For a vbucket without a record it need not be written: its first cut contains the entry, and before that no client can have
 * a seqno of the vbucket.
 */
function restoreState(
  options: Pick<WarmUpOptions, 'random' | 'vbuckets'>,
  vb: number,
  record: VbucketRecord | undefined,
  isClean: boolean,
): boolean {
  const { random, vbuckets } = options;
  if (record) restoreRecord(vbuckets, record, isClean ? 0 : casJumpAfterCrash);
  const { columns } = vbuckets;
  const isNew = !record || record.failover.length === 0;
  const isWhole = wholeSeqno(columns, vb) === columns.highSeqno[vb];
  if (!makesSeqnos(columns, vb)) return false;
  const isContinued = !isNew && isClean && isWhole;
  if (!isContinued) addFailoverEntry(vbuckets, vb, random);
  endSnapshot(columns, vb);
  return !isContinued && !isNew;
}

/** Begins a new history at the last consistent seqno. Up to there the vbucket has everything that nodes with the earlier history may have. */
export function addFailoverEntry(vbuckets: Vbuckets, vb: number, random: Random): void {
  const uuid = random.bytes(8);
  const seqno = wholeSeqno(vbuckets.columns, vb);
  vbuckets.failovers.push(vb, { uuidHi: uuid.readUInt32BE(0), uuidLo: uuid.readUInt32BE(4), seqno });
}

function restoreRecord(vbuckets: Vbuckets, record: VbucketRecord, casJump: number): void {
  const { columns } = vbuckets;
  const vb = record.vb;
  columns.highSeqno[vb] = columns.cutSeqno[vb] = columns.persistedSeqno[vb] = record.highSeqno;
  columns.purgeSeqno[vb] = record.purgeSeqno;
  columns.snapStart[vb] = record.snapStart;
  columns.snapEnd[vb] = record.snapEnd;
  columns.cutWholeSeqno[vb] = wholeSeqno(columns, vb);
  columns.copy[vb] = record.copy;
  // After the configuration store went back to an older state, the configuration has a lower epoch than the file.
  columns.epoch[vb] = Math.max(columns.epoch[vb] as number, record.epoch);
  columns.maxDeletedRev[vb] = record.maxDeletedRev;
  const cas = new DataView(record.maxCas.buffer, record.maxCas.byteOffset, record.maxCas.byteLength);
  raiseCas(columns, vb, { hi: cas.getUint32(0), lo: cas.getUint32(4), extra: casJump });
  vbuckets.failovers.decode(vb, record.failover);
}
