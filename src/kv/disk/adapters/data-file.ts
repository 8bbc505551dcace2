// One open data file: its connection, and the rule that after any error but a full disk the connection is closed and not used
// again. What was committed stays; later commits are refused with the first error's reason.
import { statSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { CommitCounter, checkCommits, hasWal, readOnly } from '#ports/commit-counter.ts';
import { FilePlace } from '#ports/file-place.ts';
import { keepPrivate } from '#ports/private-file.ts';
import { checkWal } from '#ports/wal-check.ts';
import {
  DamagedFileError,
  DiskFullError,
  type DiskSizes,
  type LoadedValues,
  type OpenedFile,
} from '../../data/disk-engine.ts';
import { connectionSql, formatVersion, pageBytes, shrinkSql, sql } from '../schema.ts';
import { CutLog, cutLogBytes, cutLogPath, readCutLog, removeCutLog } from './cut-log.ts';
import { CleanFlag, checkFormat, checkHeader, type DataFileSpec } from './file-format.ts';
import { closedBy, commitsIn, headerOf } from './file-header.ts';
import { checkSpace, isSqliteFull, lacksSpace } from './no-space.ts';
import { PageCounts } from './page-counts.ts';
import { type LoadCursor, type LoadPage, PageReader } from './page-reader.ts';
import { RowWriter } from './row-writer.ts';
import { readAfterChange } from './transaction.ts';

/** Another process that opened the file may hold a lock this long before a commit fails. */
const busyTimeoutMs = 2000;
/** Size of the write-ahead log (8 MiB) from which a checkpoint is made after an acknowledged commit. */
const checkpointPages = 1024;
/** The size from which a checkpoint is made although commits are about to come that clients wait for. */
const delayedCheckpointPages = 4 * checkpointPages;
/** From this size on the checkpoint waits for readers, so that the write-ahead log can be restarted. */
const checkpointPagesMax = 8 * checkpointPages;

/** A commit of at most this size that a client waits for goes to the log of cuts. */
const loggedBytesMax = cutLogBytes / 4;

type CheckpointMode = 'noop' | 'passive' | 'truncate';

export class DataFile {
  readonly spec: DataFileSpec;
  private readonly db: DatabaseSync;
  private readonly place: FilePlace;
  private readonly lock: FilePlace | null;
  private counter: CommitCounter | null = null;
  /** The log of cuts, whose commits are not in rows yet. Null before the first of them. */
  private log: CutLog | null = null;
  /** The file failed while commits were only in the log of cuts: rows lack acknowledged changes. */
  private isBehind = false;
  private putCommits!: StatementSync;
  /** Commits since the file was created, as its header says. */
  private commitsEver = 0;
  private writer!: RowWriter;
  private reader!: PageReader;
  private readonly pageCounts: PageCounts;
  /** Prepared once: each commit uses one. */
  private readonly checkpoints = new Map<CheckpointMode, StatementSync>();
  private truncateAtPages = checkpointPagesMax;
  /** Starts at the time of opening and rises with each commit: a load detects commits made while it ran, even if the file was reopened. */
  private commits = 0;
  private failure: string | null = null;
  /** The last commit found the disk full: its rows are not written. */
  private isFull = false;

  /** Opens a file and marks it as in use. Throws DamagedFileError, or DiskFullError, leaving the file as it is. */
  static open(spec: DataFileSpec, monotonicMs: () => number): { data: DataFile; opened: OpenedFile } {
    try {
      checkFormat(spec.path);
      checkSpace(spec.path, checkWal(`${spec.path}-wal`));
      const hadWal = hasWal(spec.path);
      // Checked before the file is opened for writing, which would truncate an unreadable write-ahead log.
      if (hadWal) readOnly(spec.path, (db) => checkCommitsOf(spec, headerOf(db), hadWal));
      keepPrivate(spec.path);
      const data = new DataFile(spec);
      return { data, opened: data.start(monotonicMs, hadWal) };
    } catch (error) {
      throw openingErrorOf(spec, error);
    }
  }

  private constructor(spec: DataFileSpec) {
    this.spec = spec;
    this.db = new DatabaseSync(spec.path, { timeout: busyTimeoutMs });
    this.pageCounts = new PageCounts(this.db);
    this.place = new FilePlace(spec.path);
    this.lock = spec.lock ? new FilePlace(spec.lock.path, spec.lock.identity) : null;
  }

  /**
   * Makes all the cuts durable with one fsync, in the file that the next start will open: in the log of cuts if a client waits for them
   * and the log and its disk have room, otherwise in a transaction.
   */
  commit(cuts: Uint8Array, isUrgent: boolean): void {
    if (isUrgent && this.mayLog(cuts) && this.logCuts(cuts)) return;
    this.transact(() => this.writer.write(cuts), cuts);
  }

  /** Removes all rows of vbuckets. */
  drop(vbs: readonly number[]): void {
    this.transact(() => this.writer.drop(vbs));
  }

  rollBack(cut: Uint8Array): boolean {
    return this.transact(() => this.writer.rollBack(cut), cut);
  }

  /** Some commits are only in the log of cuts. */
  get hasLogged(): boolean {
    return this.log?.isEmpty === false;
  }

  /** Writes the log of cuts into rows, where readers find them. */
  writeLogged(): void {
    if (this.isBehind)
      throw new Error(`the last commits of ${this.spec.path} are in its log until the next start`);
    if (this.hasLogged) this.transact(() => {});
  }

  /** Calls `read` with rows that include the log of cuts for these vbuckets, without writing them: the disk may be full. */
  readWithLogged<T>(vbs: ReadonlySet<number> | null, read: (db: DatabaseSync) => T): T {
    this.refuseAfterFailure();
    const { db } = this;
    return readAfterChange(
      db,
      () => this.writer.writeAll(this.log?.cuts() ?? [], vbs),
      () => read(db),
    );
  }

  /** Whether the log has room for the cuts, and it is certain that they can be written into rows later. */
  private mayLog(cuts: Uint8Array): boolean {
    return cuts.length <= loggedBytesMax && this.log?.hasRoom(cuts) !== false && this.writer.accepts(cuts);
  }

  /** False where the disk has no space for the log: it may have enough for rows. */
  private logCuts(cuts: Uint8Array): boolean {
    this.refuseAfterFailure();
    try {
      this.lock?.check();
      if (!this.writeToLog(cuts)) return false;
      this.log?.sync();
      this.place.check();
      this.counter?.count(++this.commitsEver);
      this.isFull = false;
      return true;
    } catch (error) {
      this.failAfterLog(error);
      throw error;
    }
  }

  /** Called when no client has waited for a while: frees the memory and the file of the log of cuts. */
  releaseLog(): void {
    this.writeLogged();
    if (this.log === null) return;
    this.log.close();
    this.log = null;
    removeCutLog(this.spec);
  }

  /** On a full disk the log of cuts keeps its commits for the next start. */
  private writeLoggedUnlessFull(): void {
    try {
      if (!this.isFull) this.writeLogged();
    } catch (error) {
      if (!(error instanceof DiskFullError)) throw error;
    }
  }

  /** Tries to write the log of cuts into the database before the file fails, so that its rows stay readable. */
  private failAfterLog(error: unknown): void {
    try {
      this.writeLogged();
    } catch {
      // Reads are refused then.
    }
    this.fail(error);
  }

  /** If the write fails midway, the incomplete frame is never read, and the next frame overwrites it. */
  private writeToLog(cuts: Uint8Array): boolean {
    try {
      this.log ??= new CutLog(this.spec);
      this.log.write(this.commitsEver + 1, cuts);
      return true;
    } catch (error) {
      if (lacksSpace(error)) return false;
      throw error;
    }
  }

  /** Writes the log of cuts into rows, then calls `write`, in one transaction. An error gives `cuts` back to the caller. */
  private transact<T>(write: () => T, cuts: Uint8Array = new Uint8Array(0)): T {
    this.refuseAfterFailure();
    try {
      this.lock?.check();
      this.db.exec('begin immediate');
      if (this.log !== null && this.hasLogged) this.writer.writeAll(this.log.cuts());
      const result = write();
      this.putCommits.run(this.commitsEver + 1);
      this.db.exec('commit');
      this.log?.clear();
      this.place.check();
      this.counter?.count(++this.commitsEver);
      this.commits++;
      this.isFull = false;
      return result;
    } catch (error) {
      if (isSqliteFull(error) && this.rollBackCommit())
        throw new DiskFullError(cuts, reasonOf(error), { cause: error });
      this.fail(error);
      throw error;
    }
  }

  /** Keeps the write-ahead log bounded; returns whether that took a checkpoint. Called between a commit's acknowledgement and the next commit. */
  checkpoint(isDelayed: boolean): boolean {
    if (this.failure !== null) return false;
    try {
      const pages = this.walPages('noop').log;
      if (pages < (isDelayed ? delayedCheckpointPages : checkpointPages)) return false;
      if (pages >= this.truncateAtPages) this.truncateWal();
      else this.walPages('passive');
      return true;
    } catch (error) {
      // The write-ahead log stays unchanged; the next commit tries again.
      if (!isSqliteFull(error)) this.fail(error);
      return false;
    }
  }

  loadPage(cursor: LoadCursor, values: LoadedValues): LoadPage {
    this.writeLogged();
    this.refuseAfterFailure();
    try {
      const page = this.reader.readPage(cursor, this.commits, values);
      // The rows are in the caller's memory now: two megabytes of page cache per file are not worth keeping.
      if (page.next === null) this.db.exec(shrinkSql);
      return page;
    } catch (error) {
      this.fail(error);
      throw damageOf(this.spec, error);
    }
  }

  sizes(): DiskSizes {
    const fileBytes =
      sizeOf(this.spec.path) + sizeOf(`${this.spec.path}-wal`) + sizeOf(cutLogPath(this.spec));
    if (this.failure !== null) return { fileBytes, dataBytes: 0, freeBytes: 0 };
    const { all, free } = this.pageCounts.asOf(this.commits);
    return { fileBytes, dataBytes: (all - free) * pageBytes, freeBytes: free * pageBytes };
  }

  /** Called when another file replaces this one. */
  retire(reason: string): void {
    this.failure ??= reason;
    this.closeFiles();
  }

  /** `clean`: nothing is left to commit; a file that found the disk full may lack changes and is not marked so. `by`: boot ids for the mark. */
  close(clean: boolean, by = ''): void {
    if (this.failure !== null) return;
    try {
      if (clean) this.writeLoggedUnlessFull();
      if (clean && !this.isFull) this.markClean(by);
      this.failure = 'it is closed';
      this.closeFiles();
    } catch (error) {
      this.fail(error);
      throw error;
    }
  }

  /** A full disk leaves the file without the mark: the next start reads it as after a kill. */
  private markClean(by: string): void {
    try {
      this.db.prepare(sql.setClosedBy).run(by);
      this.db.prepare(sql.setClean).run(CleanFlag.clean);
      this.db.exec('pragma wal_checkpoint(truncate)');
      removeCutLog(this.spec);
    } catch (error) {
      if (!isSqliteFull(error)) throw error;
    }
  }

  private start(monotonicMs: () => number, hadWal: boolean): OpenedFile {
    try {
      this.db.exec(connectionSql);
      this.commits = Math.floor(monotonicMs() * 1000);
      const header = this.checkedHeader();
      const wasClean = header.get('clean') === CleanFlag.clean;
      checkCommitsOf(this.spec, header, hadWal);
      const logged = readCutLog(this.spec, commitsIn(header) ?? 0);
      this.commitsEver = (commitsIn(header) ?? 0) + logged.length;
      this.reader = new PageReader(this.db, monotonicMs);
      // The rest of a torn commit is removed before the write-ahead log is appended to.
      this.db.exec('pragma wal_checkpoint(truncate)');
      this.putCommits = this.db.prepare(sql.setCommits);
      this.db.exec(`begin immediate; pragma user_version=${formatVersion}`);
      this.db.prepare(sql.setClean).run(CleanFlag.open);
      this.db.prepare(sql.setClosedBy).run('');
      if (logged.length > 0) new RowWriter(this.db, this.reader.readVbuckets()).writeAll(logged);
      this.putCommits.run(this.commitsEver);
      this.db.exec('commit');
      const vbuckets = this.reader.readVbuckets();
      this.writer = new RowWriter(this.db, vbuckets);
      // To the file itself: if the mark were only in the write-ahead log, the loss of that log would leave a file that claims a clean stop.
      this.db.exec('pragma wal_checkpoint(truncate)');
      removeCutLog(this.spec);
      this.counter = new CommitCounter(this.spec.path, this.commitsEver);
      // The next file that is opened uses the memory of this one's page cache.
      this.db.exec(shrinkSql);
      return { file: this.spec.file, clean: wasClean, closedBy: closedBy(header), vbuckets };
    } catch (error) {
      this.fail(error);
      throw error;
    }
  }

  /** Waits for readers. While one in another process does not end, it tries again only after the write-ahead log has doubled. */
  private truncateWal(): void {
    const { busy } = this.walPages('truncate');
    this.truncateAtPages = busy === 0 ? checkpointPagesMax : 2 * this.truncateAtPages;
  }

  private walPages(mode: CheckpointMode): { log: number; busy: number } {
    let statement = this.checkpoints.get(mode);
    if (statement === undefined) {
      statement = this.db.prepare(`pragma wal_checkpoint(${mode})`);
      this.checkpoints.set(mode, statement);
    }
    return statement.get() as { log: number; busy: number };
  }

  private checkedHeader(): Map<unknown, unknown> {
    const header = headerOf(this.db);
    checkHeader(this.spec, header);
    return header;
  }

  /** Rolls back a commit that found the disk full, and truncates the write-ahead log. False when that fails too. */
  private rollBackCommit(): boolean {
    this.isFull = true;
    try {
      if (this.db.isTransaction) this.db.exec('rollback');
    } catch {
      return false;
    }
    try {
      this.walPages('truncate');
      return true;
    } catch (error) {
      return isSqliteFull(error);
    }
  }

  private refuseAfterFailure(): void {
    if (this.failure === null) return;
    throw new Error(`bucket file ${this.spec.path} takes no more commits: ${this.failure}`);
  }

  private fail(error: unknown): void {
    this.failure ??= reasonOf(error);
    this.closeFiles();
  }

  private closeFiles(): void {
    if (this.db.isOpen) this.db.close();
    this.counter?.close();
    this.counter = null;
    this.isBehind ||= this.hasLogged;
    this.log?.close();
    this.log = null;
  }
}

function checkCommitsOf(spec: DataFileSpec, header: ReadonlyMap<unknown, unknown>, hadWal: boolean): void {
  const inRows = commitsIn(header);
  if (inRows === null) return;
  const commits = inRows + readCutLog(spec, inRows).length;
  checkCommits(spec.path, { commits, isInUse: header.get('clean') !== CleanFlag.clean, hadWal });
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const openingErrorOf = (spec: DataFileSpec, error: unknown): DamagedFileError | DiskFullError =>
  lacksSpace(error)
    ? new DiskFullError(new Uint8Array(0), reasonOf(error), { cause: error })
    : damageOf(spec, error);

function damageOf(spec: DataFileSpec, error: unknown): DamagedFileError {
  const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
  const reason = missing ? 'it is missing' : reasonOf(error);
  return new DamagedFileError({ file: spec.file, path: spec.path, reason }, { cause: error });
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
