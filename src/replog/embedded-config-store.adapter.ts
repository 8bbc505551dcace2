// The configuration of a cluster on the embedded engine: one SQLite file. Every change is one fsynced transaction.
// Changes are rare and small, so they run synchronously in the calling thread.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { UnwritableError } from '#base/unwritable-error.ts';
import { CommitCounter } from '#ports/commit-counter.ts';
import { type DiskReserve, noDiskReserve } from '#ports/disk-reserve.ts';
import { FilePlace } from '#ports/file-place.ts';
import {
  addChecksum,
  boundState,
  checkEntry,
  deleteEntry,
  type EntryRow,
  entryChecksum,
  openConfigFile,
  putEntry,
  putState,
  type StoreRow,
} from './config-file.adapter.ts';
import type { ChangeOptions, ConfigStore, Entry } from './config-store.ts';
import { WatchList } from './watch-list.ts';

/** A message to another node contains a value as a string, which escapes may make twice as long, and has at most 32 MiB. */
export const storedBytesMax = 15 * 1024 * 1024;

/** A check before each change; throws to refuse it. */
export interface ChangeGuard {
  check(): void;
}

export interface EmbeddedStoreOptions {
  diskReserve?: DiskReserve;
  /** Further checks; the identity of the store's own file is always checked. */
  guard?: ChangeGuard;
}

export class EmbeddedConfigStore implements ConfigStore {
  readonly #database: DatabaseSync;
  readonly #place: FilePlace;
  readonly #guard: ChangeGuard | undefined;
  readonly #diskReserve: DiskReserve;
  readonly #statements: ReturnType<typeof prepare>;
  readonly #counter: CommitCounter;
  #watchers = new WatchList();
  #state: StoreRow;

  constructor(path: string, { diskReserve = noDiskReserve, guard }: EmbeddedStoreOptions = {}) {
    this.#diskReserve = diskReserve;
    this.#guard = guard;
    const { database, state } = openConfigFile(path);
    this.#database = database;
    this.#state = state;
    this.#place = new FilePlace(path);
    this.#statements = prepare(database);
    this.#counter = new CommitCounter(path, state.revision);
  }

  async get<T>(key: string): Promise<Entry<T> | null> {
    const row = this.#statements.get.get(key) as EntryRow | undefined;
    return row ? entryOf<T>(row) : null;
  }

  async list<T>(prefix: string): Promise<Entry<T>[]> {
    return this.#list<T>(prefix);
  }

  #list<T>(prefix: string): Entry<T>[] {
    const rows = this.#statements.list.all(prefix) as unknown as EntryRow[];
    return rows.filter((row) => row.key.startsWith(prefix)).map((row) => entryOf<T>(row));
  }

  async put<T>(key: string, value: T, expectedRevision: number, { freesSpace = false }: ChangeOptions = {}) {
    const json = jsonOf(key, value);
    const write = (revision: number): number => {
      const checksum = entryChecksum({ key, value: json, revision });
      this.#statements.put.run(key, json, revision, checksum);
      return checksum;
    };
    const done = freesSpace
      ? this.#changeWithReserve(key, expectedRevision, write)
      : this.#change(key, expectedRevision, write);
    if (!done) return null;
    const { revision } = this.#state;
    this.#watchers.notify(key, { key, value: JSON.parse(json), revision });
    return revision;
  }

  async delete(key: string, expectedRevision: number): Promise<boolean> {
    if (expectedRevision === 0) return false;
    const done = this.#changeWithReserve(key, expectedRevision, () => {
      this.#statements.delete.run(key);
      return 0;
    });
    if (done) this.#watchers.notify(key, null);
    return done;
  }

  async watch(prefix: string, changed: (key: string, entry: Entry | null) => void) {
    // Without an `await`, during which a change would be missed.
    for (const entry of this.#list(prefix)) changed(entry.key, entry);
    return this.#watchers.add(prefix, changed);
  }

  revision(): number {
    return this.#state.revision;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watchers.clear();
    if (!this.#database.isOpen) return;
    this.#markClosed();
    this.#database.close();
    this.#counter.close();
  }

  #changeWithReserve(key: string, expectedRevision: number, write: Write): boolean {
    for (;;) {
      try {
        return this.#change(key, expectedRevision, write);
      } catch (error) {
        const isFull = error instanceof UnwritableError && isDiskFull(error.cause);
        if (!isFull || !this.#diskReserve.release()) throw error;
      }
    }
  }

  /** One transaction: compares the key's revision, writes the entry and raises the store's revision. */
  #change(key: string, expectedRevision: number, write: Write): boolean {
    this.#checkFile();
    try {
      this.#database.exec('begin immediate');
      const row = this.#statements.get.get(key) as EntryRow | undefined;
      if (row !== undefined) checkEntry(row);
      if ((row?.revision ?? 0) !== expectedRevision) {
        this.#database.exec('rollback');
        return false;
      }
      const revision = this.#state.revision + 1;
      const sum = addChecksum(this.#state.sum, write(revision) - (row?.checksum ?? 0));
      const state = { ...this.#state, revision, sum };
      this.#statements.putState.run(...boundState(state));
      this.#database.exec('commit');
      this.#state = state;
      this.#counter.count(revision);
      return true;
    } catch (error) {
      this.#rollBack();
      throw problemOf(error);
    }
  }

  /** The rollback may fail too; the first error is reported. */
  #rollBack(): void {
    try {
      if (this.#database.isTransaction) this.#database.exec('rollback');
    } catch {
      // The next change finds the transaction open and is refused.
    }
  }

  #checkFile(): void {
    try {
      this.#place.check();
      this.#guard?.check();
    } catch (error) {
      throw unwritable((error as Error).message, error);
    }
  }

  /** A file that cannot be marked as closed stays marked as in use: the next start checks its WAL. */
  #markClosed(): void {
    try {
      this.#place.check();
      this.#guard?.check();
      this.#statements.putState.run(...boundState({ ...this.#state, in_use: 0 }));
      this.#database.exec('pragma wal_checkpoint(truncate)');
    } catch {
      this.#rollBack();
    }
  }
}

/** Returns the checksum of the written entry, 0 for a deletion. */
type Write = (revision: number) => number;

const unwritable = (reason: string, cause: unknown): UnwritableError =>
  new UnwritableError(`Nothing was changed: ${reason}.`, { cause, isUnchanged: true });

/** After a failed sync the content of the file is unknown. */
const failed = (cause: unknown): UnwritableError =>
  new UnwritableError(
    `The change may be lost: the configuration file cannot be written: ${(cause as Error).message}.`,
    { cause },
  );

/** Result codes of SQLite. */
const sqliteFull = 13;
const sqliteIoError = 10;
const isIoError = (error: unknown): boolean =>
  (((error as { errcode?: number }).errcode ?? 0) & 0xff) === sqliteIoError;
const isDiskFull = (error: unknown): boolean => (error as { errcode?: number }).errcode === sqliteFull;

function jsonOf(key: string, value: unknown): string {
  const json = JSON.stringify(value);
  const bytes = Buffer.byteLength(json);
  if (bytes <= storedBytesMax) return json;
  const limit = `the configuration store accepts at most ${storedBytesMax}; nothing was changed`;
  throw new UnwritableError(`the value of "${key}" has ${bytes} bytes, and ${limit}`, { isUnchanged: true });
}

function problemOf(error: unknown): UnwritableError {
  if (isDiskFull(error)) return unwritable('the disk of the data folder is full', error);
  return isIoError(error) ? failed(error) : unwritable((error as Error).message, error);
}

function entryOf<T>(row: EntryRow): Entry<T> {
  checkEntry(row);
  return { key: row.key, value: JSON.parse(row.value) as T, revision: row.revision };
}

function prepare(database: DatabaseSync) {
  const statement = (sql: string): StatementSync => database.prepare(sql);
  return {
    putState: statement(putState),
    get: statement('select key, value, revision, checksum from entry where key = ?'),
    list: statement('select key, value, revision, checksum from entry where key >= ? order by key'),
    put: statement(putEntry),
    delete: statement(deleteEntry),
  };
}
