// The writer of an index's SQLite file. Rows and their positions are committed in one transaction, so that after a crash the file is in
// an earlier state of the index. With `synchronous=normal` a power failure can lose the last commits, but does not
// damage the file; the index then follows the changes again from the stored positions.
import { closeSync, openSync, statSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { vbucketCount, vbucketOf } from '#client/document-key.ts';
import { keyName } from '../keys/key-name.ts';
import { primaryKey } from '../keys/primary-key.ts';
import {
  applicationId,
  checkpointPages,
  insertStage,
  logBytesMax,
  pageBytes,
  schema,
  schemaVersion,
  smallDiskCheckpointPages,
  sql,
  stageRows,
  writerCacheKib,
} from './file-schema.ts';
import type { DocumentRows, FileIdentity, IndexFile, VbPosition } from './index-store.ts';
import { isShortage } from './shortages.ts';
import { TableComparison } from './table-comparison.adapter.ts';

const busyTimeoutMs = 5_000;
/** The tables of larger files are compared later, page by page: comparing takes about two microseconds a row, during which no index follows changes. */
const comparedRowsMax = 100_000;
/** The estimated memory of a staged row in addition to its key and id. */
const stagedRowBytes = 16;

/** SQLITE_FULL. */
const diskFull = 13;

/** The file belongs to another definition, or cannot be read. */
export class UnusableFileError extends Error {}

export class SqliteIndexFile implements IndexFile {
  private readonly path: string;
  private readonly db: DatabaseSync;
  private readonly isPrimary: boolean;
  private readonly statements = new Map<string, StatementSync>();
  /** The estimated memory of the staged rows in bytes. */
  private staged = 0;
  /** Keys and ids that wait for an insert of several rows into the stage. */
  private unstaged: Uint8Array[] = [];
  private rowCount: number;
  /** True after a commit found the disk full, until the log was truncated. */
  private wasFull = false;
  private built: boolean;
  /** Null once the tables were compared. */
  private comparison: TableComparison | null = null;

  /** Opens the file, or creates it. @throws UnusableFileError; the error of SQLite if disk, memory or file descriptors are used up */
  constructor(
    path: string,
    identity: FileIdentity,
    { checkedOnOpenRowsMax = comparedRowsMax }: { checkedOnOpenRowsMax?: number } = {},
  ) {
    this.path = path;
    this.isPrimary = identity.isPrimary;
    const isNew = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
    if (isNew) closeSync(openSync(path, 'a', 0o600));
    this.db = new DatabaseSync(path, { timeout: busyTimeoutMs });
    try {
      this.connect();
      if (isNew) this.create(identity);
      else this.check(identity);
      this.rowCount = countOf(this.meta('rows') ?? 0);
      // Damage is found now, while the file can be replaced.
      this.positions();
      if (!isNew && this.rowCount <= checkedOnOpenRowsMax) this.compareTables();
      else if (!isNew) this.comparison = new TableComparison(this.db, this.isPrimary);
      this.built = this.meta('built') === 1;
    } catch (error) {
      this.db.close();
      if (error instanceof UnusableFileError || isShortage(error)) throw error;
      throw new UnusableFileError((error as Error).message, { cause: error });
    }
  }

  get rows(): number {
    return this.rowCount;
  }

  get isBuilt(): boolean {
    return this.built;
  }

  get stagedBytes(): number {
    return this.staged;
  }

  positions(): VbPosition[] {
    return this.statement(sql.applied)
      .all()
      .map((row) => ({
        vb: countOf(row.vb, vbucketCount - 1),
        uuid: uuidOf(row.uuid),
        seqno: countOf(row.seqno),
        snapshotStart: countOf(row.snapshot_start),
        snapshotEnd: countOf(row.snapshot_end),
        completeSeqno: countOf(row.complete),
      }));
  }

  commit(documents: readonly DocumentRows[], positions: readonly VbPosition[]): void {
    if (this.wasFull) this.emptyLog();
    this.insertUnstaged();
    this.transaction(() => {
      let rows = this.rowCount + this.writeStaged();
      for (const document of documents) rows += this.replace(document);
      this.putPositions(positions);
      return rows;
    });
    this.staged = 0;
  }

  stage(documents: readonly DocumentRows[]): void {
    for (const { id, keys } of documents) {
      for (const key of keys) {
        this.unstaged.push(key, id);
        this.staged += key.length + id.length + stagedRowBytes;
      }
    }
    this.insertInFull();
  }

  remove(vbuckets: ReadonlySet<number> | null): void {
    this.discardStaged();
    this.transaction(() => {
      this.statement(sql.putMeta).run('built', 0);
      if (vbuckets !== null) return this.rowCount - this.removeOf(vbuckets);
      this.db.exec('delete from entry; delete from back; delete from applied');
      return 0;
    });
    this.built = false;
  }

  markBuilt(): void {
    this.endStaging();
    this.statement(sql.putMeta).run('built', 1);
    this.built = true;
    // The build needs a larger buffer than later changes.
    this.db.exec('pragma shrink_memory');
  }

  compareMore(): boolean {
    // While the transaction of a stage is open, all pages would come from its old snapshot.
    if (this.comparison === null || this.db.isTransaction) return this.comparison !== null;
    const result = this.comparison.next();
    if (result === 'different') throw new UnusableFileError('its tables have different rows');
    if (result === 'complete') this.comparison = null;
    return this.comparison !== null;
  }

  limitCache(bytes: number): void {
    this.db.exec(`pragma cache_size = -${Math.floor(bytes / 1024)}`);
  }

  bytes(): number {
    const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    return sizeOf(this.path) + sizeOf(`${this.path}-wal`);
  }

  close(): void {
    if (this.db.isOpen) this.db.close();
  }

  private connect(): void {
    this.db.exec(`pragma page_size = ${pageBytes}; pragma journal_mode = wal; pragma synchronous = normal;
      pragma wal_autocheckpoint = ${checkpointPages}; pragma cache_size = -${writerCacheKib};
      pragma journal_size_limit = ${logBytesMax}; pragma temp_store = memory`);
  }

  private create(identity: FileIdentity): void {
    this.db.exec('begin immediate');
    this.db.exec(schema);
    this.statement(sql.putMeta).run('identity', JSON.stringify(identity));
    this.statement(sql.putMeta).run('rows', 0);
    this.db.exec('commit');
    this.db.exec(sql.createStage);
  }

  private check(identity: FileIdentity): void {
    const number = (pragma: string) => Object.values(this.db.prepare(`pragma ${pragma}`).get() ?? {})[0];
    if (number('application_id') !== applicationId) throw new UnusableFileError('it is not an index file');
    if (number('user_version') !== schemaVersion) throw new UnusableFileError('it has another version');
    if (this.meta('identity') !== JSON.stringify(identity))
      throw new UnusableFileError('it belongs to another definition');
    this.db.exec(sql.createStage);
  }

  /** SQLite does not notice a changed byte within a key or an id. All rows are in two tables, and a primary key follows from the id. */
  private compareTables(): void {
    if (this.isPrimary)
      this.db.function('is_key_of', (k, id) => Number(primaryKey(id as never).equals(k as never)));
    const text = this.isPrimary ? sql.damagedPrimaryRows : sql.damagedRows;
    if (Object.values(this.db.prepare(text).get() ?? {})[0] !== 0)
      throw new UnusableFileError('its tables have different rows');
  }

  private meta(name: string): unknown {
    return this.statement(sql.meta).get(name)?.value;
  }

  /** Runs `change`, which returns the new number of rows, in a transaction. */
  private transaction(change: () => number): void {
    this.endStaging();
    this.db.exec('begin immediate');
    try {
      const rows = change();
      this.statement(sql.putMeta).run('rows', rows);
      this.db.exec('commit');
      this.rowCount = rows;
    } catch (error) {
      if (this.db.isTransaction) this.db.exec('rollback');
      this.wasFull ||= ((error as { errcode?: number }).errcode ?? 0) === diskFull;
      throw error;
    }
  }

  /**
   * Writes the log into the file and truncates the log. After a full disk this comes before further commits: the log would take the space that
   * became free, and then the file, into which the log must be written before it can be truncated, could not grow any more.
   */
  private emptyLog(): void {
    this.endStaging();
    this.db.exec('pragma busy_timeout = 0'); // fails at once while a scan reads the log
    try {
      this.db.exec(
        `pragma wal_checkpoint(truncate); pragma wal_autocheckpoint = ${smallDiskCheckpointPages}`,
      );
      this.wasFull = false;
    } finally {
      this.db.exec(`pragma busy_timeout = ${busyTimeoutMs}`);
    }
  }

  private writeStaged(): number {
    if (this.staged === 0) return 0;
    const { changes } = this.statement(sql.entriesOfStage).run();
    if (!this.isPrimary) this.statement(sql.backOfStage).run();
    this.statement(sql.clearStage).run();
    return Number(changes);
  }

  /** Returns by how many rows the index grew. */
  private replace({ id, keys }: DocumentRows): number {
    if (this.isPrimary) return this.replacePrimary(id, keys[0]);
    const before = this.statement(sql.backOf)
      .all(id)
      .map(({ k }) => k as Uint8Array);
    for (const key of without(before, keys)) {
      this.statement(sql.deleteEntry).run(key, id);
      this.statement(sql.deleteBack).run(id, key);
    }
    for (const key of without(keys, before)) {
      this.statement(sql.insertEntry).run(key, id);
      this.statement(sql.insertBack).run(id, key);
    }
    return keys.length - before.length;
  }

  private replacePrimary(id: Uint8Array, key: Uint8Array | undefined): number {
    if (key === undefined) return -Number(this.statement(sql.deleteEntry).run(primaryKey(id), id).changes);
    return Number(this.statement(sql.insertEntryOnce).run(key, id).changes);
  }

  private putPositions(positions: readonly VbPosition[]): void {
    const put = this.statement(sql.putApplied);
    const uuidBytes = Buffer.alloc(8);
    for (const { vb, uuid, seqno, snapshotStart, snapshotEnd, completeSeqno } of positions) {
      uuidBytes.writeBigUInt64BE(uuid);
      put.run(vb, uuidBytes, seqno, snapshotStart, snapshotEnd, completeSeqno);
    }
  }

  private removeOf(vbuckets: ReadonlySet<number>): number {
    this.db.function('vb_is_gone', (id) => Number(vbuckets.has(vbucketOf(id as unknown as Uint8Array))));
    const { changes } = this.db.prepare('delete from entry where vb_is_gone(id)').run();
    this.db.prepare('delete from back where vb_is_gone(id)').run();
    for (const vb of vbuckets) this.db.prepare('delete from applied where vb = ?').run(vb);
    return Number(changes);
  }

  /** Inserts as many rows as fill inserts of `stageRows`. After a throw, those that were not inserted wait for the next call. */
  private insertInFull(): void {
    const { unstaged } = this;
    const length = 2 * stageRows;
    if (unstaged.length < length) return;
    let at = 0;
    try {
      for (; at + length <= unstaged.length; at += length)
        this.insert(insertFullStage, unstaged.slice(at, at + length));
    } finally {
      this.unstaged = unstaged.slice(at);
    }
  }

  private insertUnstaged(): void {
    this.insertInFull();
    if (this.unstaged.length === 0) return;
    this.insert(insertStage(this.unstaged.length / 2), this.unstaged);
    this.unstaged = [];
  }

  private insert(text: string, rows: readonly Uint8Array[]): void {
    // `begin` takes no lock: the stage is a temporary table.
    if (!this.db.isTransaction) this.db.exec('begin');
    this.statement(text).run(...rows);
  }

  private endStaging(): void {
    if (this.db.isTransaction) this.db.exec('commit');
  }

  private discardStaged(): void {
    this.unstaged = [];
    this.staged = 0;
    this.endStaging();
    this.statement(sql.clearStage).run();
  }

  private statement(text: string): StatementSync {
    let statement = this.statements.get(text);
    if (statement === undefined) {
      statement = this.db.prepare(text);
      this.statements.set(text, statement);
    }
    return statement;
  }
}

/** @throws UnusableFileError for what this writer never stores */
function countOf(stored: unknown, max = Number.MAX_SAFE_INTEGER): number {
  if (Number.isSafeInteger(stored) && (stored as number) >= 0 && (stored as number) <= max)
    return stored as number;
  throw new UnusableFileError('it has a damaged number');
}

function uuidOf(stored: unknown): bigint {
  if (!(stored instanceof Uint8Array) || stored.length !== 8)
    throw new UnusableFileError('it has a damaged history');
  return Buffer.from(stored).readBigUInt64BE();
}

const insertFullStage = insertStage(stageRows);

/** Above this number of keys a set is faster than a search: arrays have up to thousands of keys, most documents one. */
const searchedKeysMax = 8;

/** The `keys` that are not in `others`. */
function without(keys: readonly Uint8Array[], others: readonly Uint8Array[]): readonly Uint8Array[] {
  if (others.length === 0 || keys.length === 0) return keys;
  if (keys.length <= searchedKeysMax || others.length <= searchedKeysMax)
    return keys.filter((key) => !others.some((other) => Buffer.compare(key, other) === 0));
  const names = new Set(others.map(keyName));
  return keys.filter((key) => !names.has(keyName(key)));
}
