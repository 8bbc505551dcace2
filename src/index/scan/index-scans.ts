// Scans index files in the thread that runs the query. Rows are read in pages; all pages of a scan see one snapshot of the index,
// unless it takes very long.
import type { Clock } from '#ports/clock.ts';
import { SharedTimers } from '#ports/shared-timers.ts';
import type {
  IndexDefinition,
  Indexes,
  IndexFigures,
  IndexRow,
  IndexScan,
  IndexStatus,
} from '#sqlpp/datastore/indexes.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { type SqlError, sqlError, sqlErrorWith } from '#sqlpp/errors/sql-error.ts';
import type { IndexProgress } from '../index-progress.ts';
import { KeyFormatError } from '../keys/key-reader.ts';
import {
  intervalsOf,
  type KeyDirections,
  type KeyInterval,
  mergedIntervals,
  type SpanInterval,
  spanIntervals,
} from '../spans/intervals.ts';
import {
  type IndexReader,
  type IndexReaders,
  MissingIndexFileError,
  type StoredRow,
} from '../store/index-store.ts';
import { isShortage } from '../store/shortages.ts';
import { ChangedRowsOfScans, withChanges } from './changed-rows.ts';
import { waitFor } from './consistency.ts';
import type { IndexCatalog } from './index-catalog.ts';
import { ReaderPool } from './reader-pool.ts';
import { RowDecoder } from './row-decoder.ts';
import { needsIdsOnly, onePage, pageRows, ScanRows } from './scan-rows.ts';

export interface IndexScansOptions {
  readonly catalog: IndexCatalog;
  readonly readers: IndexReaders;
  readonly clock: Clock;
  /** The direction of each position of an index's keys. */
  readonly directions: (definition: IndexDefinition) => KeyDirections;
  /** Called for an index file that cannot be read. */
  readonly damaged: (index: IndexDefinition, reason: Error) => void;
}

/** The writer's log cannot shrink while a scan holds its snapshot: after this time the scan continues with a newer one. */
const snapshotMsMax = 30_000;
/** The longest time for which scans of one page each share a snapshot. */
const sharedSnapshotMs = 1_000;
/** Spans that are encoded without a pause. */
const encodedSpans = 512;

export class IndexScans implements Indexes {
  private readonly options: IndexScansOptions;
  private readonly pool: ReaderPool;
  private readonly changes: { stop(): void };
  private readonly timers: SharedTimers;
  private isReleasing = false;
  private readonly changedRows = new ChangedRowsOfScans();
  /** A cache for each definition: computing the directions takes a tenth of the time of a scan of one row. */
  private readonly directions = new WeakMap<IndexDefinition, KeyDirections>();

  constructor(options: IndexScansOptions) {
    const { catalog } = options;
    this.options = options;
    this.timers = new SharedTimers(options.clock);
    this.pool = new ReaderPool(options.readers);
    this.changes = catalog.onChange(() =>
      this.pool.keepOnly((id, generation) => catalog.find(id)?.report?.generation === generation),
    );
  }

  indexesOf(keyspace: Keyspace): readonly IndexStatus[] {
    return this.options.catalog.indexesOf(keyspace);
  }

  scanNow(scan: IndexScan): readonly IndexRow[] | 'many' | 'waits' {
    const progress = this.progressNow(scan);
    if (progress === undefined) return 'waits';
    if (scan.spans.length > 1 || hasChanges(scan)) return 'many';
    try {
      return this.fewRows(scan, this.intervalsOf(scan), progress) ?? 'many';
    } catch (error) {
      if (error instanceof IncompleteIndexError) return 'waits';
      throw error;
    }
  }

  async *scan(scan: IndexScan): AsyncGenerator<readonly IndexRow[]> {
    for (;;)
      try {
        return yield* this.scanComplete(scan);
      } catch (error) {
        if (!(error instanceof IncompleteIndexError)) throw error;
      }
  }

  figures({ id }: IndexDefinition): Promise<IndexFigures> {
    const found = this.options.catalog.find(id);
    return Promise.resolve({ rows: found?.progress?.rows ?? 0, diskBytes: found?.report?.fileBytes ?? 0 });
  }

  close(): void {
    this.changes.stop();
    this.pool.close();
  }

  /** @throws IncompleteIndexError before the first row: the scan must wait until the index is built again. */
  private async *scanComplete(scan: IndexScan): AsyncGenerator<readonly IndexRow[]> {
    const progress = this.progressNow(scan) ?? (await this.ready(scan));
    const many = scan.spans.length > encodedSpans;
    const intervals = many ? await this.manyIntervalsOf(scan) : this.intervalsOf(scan);
    const few = scan.hasManyRows || hasChanges(scan) ? null : this.fewRows(scan, intervals, progress);
    if (few === null) yield* this.allRows(scan, intervals, progress);
    else if (few.length > 0) yield few;
  }

  /**
   * The rows of an interval with few rows, read without a transaction or in one that such scans share: to begin and end one takes longer
   * than the page. null: there may be more, which must be read from the start in one snapshot.
   */
  private fewRows(
    scan: IndexScan,
    intervals: readonly KeyInterval[],
    progress: IndexProgress,
  ): readonly IndexRow[] | null {
    const [interval] = intervals;
    if (intervals.length > 1) return null;
    const { clock } = this.options;
    const startedMs = clock.monotonicMs();
    const rows = this.rowsOf(scan);
    const { reader, generation } = this.open(scan.index);
    let found: readonly IndexRow[] | null;
    try {
      // A consistent scan reads the newest rows: it may have been woken before the commit is counted.
      const commits = scan.consistency.kind === 'not_bounded' ? progress.commits : undefined;
      found = interval === undefined ? [] : onePage(reader, interval, scan, rows, commits);
      checkComplete(progress);
    } catch (error) {
      reader.close();
      this.countScan(progress, startedMs, rows.answered);
      throw this.readFailure(scan.index, error);
    }
    this.pool.putBack(scan.index.id, generation, reader);
    this.releaseLater();
    if (found !== null) this.countScan(progress, startedMs, rows.answered);
    return found;
  }

  private async *allRows(
    scan: IndexScan,
    intervals: KeyInterval[],
    progress: IndexProgress,
  ): AsyncGenerator<readonly IndexRow[]> {
    const startedMs = this.options.clock.monotonicMs();
    const rows = this.rowsOf(scan);
    if (scan.isReverse) intervals.reverse();
    // Before the file is opened: it may be replaced during a pause.
    const changes = await this.changedRows.of(scan);
    const { reader, generation } = this.openFresh(scan.index);
    let snapshotAge: SnapshotAge | null = null;
    let isBroken = false;
    try {
      const view = withChanges(reader, changes);
      snapshotAge = this.limitSnapshotAge(reader);
      for (const interval of intervals) {
        if (rows.isDone) break;
        const pause = scan.yieldIfDue?.();
        if (pause !== undefined) await pause;
        yield* this.interval(view, interval, scan, rows, { progress, snapshotAge });
      }
    } catch (error) {
      isBroken = true;
      throw this.readFailure(scan.index, error, rows.answered > 0);
    } finally {
      snapshotAge?.end();
      if (isBroken) reader.close();
      else this.putBack(scan.index.id, generation, reader);
      this.countScan(progress, startedMs, rows.answered);
    }
  }

  private rowsOf(scan: IndexScan): ScanRows {
    return new ScanRows(scan, new RowDecoder(scan.keys, this.directionsOf(scan.index)));
  }

  private countScan(progress: IndexProgress, startedMs: number, rows: number): void {
    const { clock } = this.options;
    const micros = (clock.monotonicMs() - startedMs) * 1_000;
    progress.addScan({ rows, micros, atMs: clock.wallMs() });
  }

  private async *interval(
    reader: IndexReader,
    interval: KeyInterval,
    scan: IndexScan,
    rows: ScanRows,
    { progress, snapshotAge }: { progress: IndexProgress; snapshotAge: SnapshotAge },
  ): AsyncGenerator<readonly IndexRow[]> {
    let after: StoredRow | null = null;
    const { isReverse } = scan;
    const idsOnly = needsIdsOnly(scan, interval);
    let limit: number = Math.min(pageRows.first, rows.rowsNeeded);
    for (;;) {
      scan.signal.throwIfAborted();
      this.entryOf(scan.index);
      const page: readonly StoredRow[] = reader.page(interval, { after, isReverse, limit, idsOnly });
      if (rows.answered === 0) checkComplete(progress);
      else if (snapshotAge.isRenewed && !progress.isComplete) throw incomplete(scan.index);
      snapshotAge.isRenewed = false;
      const answer = rows.wantedRows(page, interval);
      if (answer.length > 0) yield answer;
      after = page.at(-1) ?? null;
      if (page.length < limit || rows.isDone) return;
      limit = pageRows.later;
      // After a page without a row that the scan accepts, the next page is read at once.
      const pause = scan.yieldIfDue?.();
      if (pause !== undefined) await pause;
    }
  }

  /** Refreshes the snapshot of a scan by a timer, even while no client reads its rows. */
  private limitSnapshotAge(reader: IndexReader): SnapshotAge {
    const refresh = (): void => {
      reader.refresh();
      age.isRenewed = true;
      timer = this.timers.after(snapshotMsMax, refresh);
    };
    let timer = this.timers.after(snapshotMsMax, refresh);
    const age = { isRenewed: false, end: () => timer.cancel() };
    return age;
  }

  private intervalsOf({ index, spans }: IndexScan): KeyInterval[] {
    return intervalsOf(spans, this.directionsOf(index));
  }

  private directionsOf(index: IndexDefinition): KeyDirections {
    if (index.isPrimary) return primaryDirections;
    let directions = this.directions.get(index);
    if (directions === undefined) {
      directions = this.options.directions(index);
      this.directions.set(index, directions);
    }
    return directions;
  }

  /** Encodes very many spans with pauses for other requests. */
  private async manyIntervalsOf(scan: IndexScan): Promise<KeyInterval[]> {
    const directions = this.directionsOf(scan.index);
    const intervals: SpanInterval[] = [];
    for (let at = 0; at < scan.spans.length; at += encodedSpans) {
      for (const interval of spanIntervals(scan.spans.slice(at, at + encodedSpans), directions))
        intervals.push(interval);
      const pause = scan.yieldIfDue?.();
      if (pause !== undefined) await pause;
    }
    return mergedIntervals(intervals, directions);
  }

  /** The progress of an index whose scan need not wait, else undefined. */
  private progressNow({ index, consistency, signal }: IndexScan): IndexProgress | undefined {
    signal.throwIfAborted();
    if (consistency.kind !== 'not_bounded') return undefined;
    const { report, progress } = this.entryOf(index);
    return report?.state === 'online' && progress?.isComplete ? progress : undefined;
  }

  /** Resolves when the scan may begin. */
  private async ready({ index, consistency, waitMs, signal }: IndexScan): Promise<IndexProgress> {
    await waitFor({
      consistency,
      waitMs,
      signal,
      clock: this.options.clock,
      isOnline: () => {
        const { report, progress } = this.entryOf(index);
        return report?.state === 'online' && progress?.isComplete === true;
      },
      progress: () => this.entryOf(index).progress,
      onChange: (listener) => this.options.catalog.onChange(listener),
    });
    return this.entryOf(index).progress as IndexProgress;
  }

  /** @throws SqlError when the index was dropped or cannot be used */
  private entryOf({ id, name }: IndexDefinition) {
    const found = this.options.catalog.find(id);
    if (found === undefined) throw doesNotExist(name);
    if (found.report?.state === 'offline')
      throw sqlError(5000, `index ${name} is offline: ${found.report.message ?? 'its file cannot be used'}`);
    return found;
  }

  private open(index: IndexDefinition): { reader: IndexReader; generation: number } {
    const generation = this.entryOf(index).report?.generation ?? 0;
    try {
      return { reader: this.pool.borrow(index.keyspace.bucketUuid, index.id, generation), generation };
    } catch (error) {
      throw this.readFailure(index, error);
    }
  }

  private openFresh(index: IndexDefinition): { reader: IndexReader; generation: number } {
    const opened = this.open(index);
    opened.reader.refresh();
    return opened;
  }

  /** The reader of an index that was dropped or built again meanwhile is closed: the space of its file is free only then. */
  private putBack(indexId: string, generation: number, reader: IndexReader): void {
    if (this.options.catalog.find(indexId)?.report?.generation !== generation) {
      reader.close();
      return;
    }
    reader.refresh();
    this.pool.putBack(indexId, generation, reader);
  }

  /** Ends the snapshots that single pages share: the writer's log cannot shrink meanwhile. */
  private releaseLater(): void {
    if (this.isReleasing) return;
    this.isReleasing = true;
    this.timers.after(sharedSnapshotMs, () => {
      this.isReleasing = false;
      this.pool.refresh();
    });
  }

  /**
   * Reports a file that cannot be read, or has a damaged key, so that the service rebuilds the index. The file of a dropped index is
   * removed before this thread's catalog changes.
   */
  private readFailure(index: IndexDefinition, error: unknown, hasAnswered = false): unknown {
    const isOfFile =
      error instanceof MissingIndexFileError ||
      error instanceof KeyFormatError ||
      (error as { errcode?: number }).errcode !== undefined;
    if (!isOfFile) return error;
    const found = this.options.catalog.find(index.id);
    if (found === undefined || found.progress?.isDropped) return doesNotExist(index.name);
    const isReplaced = found.progress?.isComplete === false;
    if (isReplaced && !hasAnswered) return new IncompleteIndexError();
    if (isShortage(error)) return unreadable(index, 'cannot be read now', error);
    if (!isReplaced) this.options.damaged(index, error as Error);
    return unreadable(index, 'cannot be read and is built again', error);
  }
}

const unreadable = ({ name }: IndexDefinition, state: string, error: unknown): SqlError =>
  sqlErrorWith(5000, { isRetryable: true }, `index ${name} ${state}: ${(error as Error).message}`);

const incomplete = ({ name }: IndexDefinition): SqlError =>
  sqlErrorWith(
    5000,
    { isRetryable: true },
    `index ${name} lost the rows of some documents during the scan, and is built again`,
  );

/** The snapshot of a scan of several pages. */
interface SnapshotAge {
  /** Another snapshot has taken its place since the last page. */
  isRenewed: boolean;
  end(): void;
}

/** Rows are being removed from the file. */
class IncompleteIndexError extends Error {}

function checkComplete(progress: IndexProgress): void {
  if (!progress.isComplete) throw new IncompleteIndexError();
}

const doesNotExist = (name: string): Error => sqlErrorWith(12016, { cause: `index ${name} does not exist` });

const hasChanges = ({ changed }: IndexScan): boolean => changed !== undefined && changed.size > 0;

const primaryDirections: KeyDirections = [{ isDescending: false }];
