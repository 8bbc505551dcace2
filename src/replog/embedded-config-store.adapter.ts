// The configuration of a cluster on the embedded engine: one SQLite file. Every change is one fsynced transaction.
// Changes are rare and small, so they run where they are called.
import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { UnwritableError } from '#base/unwritable-error.ts';
import { FilePlace } from '#ports/file-place.ts';
import { checkWal } from '#ports/wal-check.ts';
import type { ChangeOptions, ConfigStore, Entry } from './config-store.ts';
import { noSpareRoom, type SpareRoom } from './spare-room.ts';
import { WatchList } from './watch-list.ts';

/** "DVNC", so that another program's file is told apart. */
const applicationId = 0x44564e43;
const schemaVersion = 1;

interface Row {
  key: string;
  value: string;
  revision: number;
}

export class EmbeddedConfigStore implements ConfigStore {
  readonly #database: DatabaseSync;
  readonly #place: FilePlace;
  readonly #spareRoom: SpareRoom;
  readonly #statements: ReturnType<typeof prepare>;
  #watchers = new WatchList();
  #revision: number;

  constructor(path: string, spareRoom: SpareRoom = noSpareRoom) {
    this.#spareRoom = spareRoom;
    this.#database = open(path);
    this.#place = new FilePlace(path);
    this.#statements = prepare(this.#database);
    this.#revision = (this.#statements.revision.get() as { revision: number }).revision;
  }

  async get<T>(key: string): Promise<Entry<T> | null> {
    const row = this.#statements.get.get(key) as Row | undefined;
    return row ? entryOf<T>(row) : null;
  }

  async list<T>(prefix: string): Promise<Entry<T>[]> {
    const rows = this.#statements.list.all(prefix) as unknown as Row[];
    return rows.filter((row) => row.key.startsWith(prefix)).map((row) => entryOf<T>(row));
  }

  async put<T>(key: string, value: T, expectedRevision: number, { freesSpace = false }: ChangeOptions = {}) {
    const json = JSON.stringify(value);
    const write = (revision: number) => this.#statements.put.run(key, json, revision);
    const done = freesSpace
      ? this.#changeInSpareRoom(key, expectedRevision, write)
      : this.#change(key, expectedRevision, write);
    if (!done) return null;
    const revision = this.#revision;
    this.#watchers.tell(key, { key, value: JSON.parse(json), revision });
    return revision;
  }

  async delete(key: string, expectedRevision: number): Promise<boolean> {
    if (expectedRevision === 0) return false;
    const done = this.#changeInSpareRoom(key, expectedRevision, () => this.#statements.delete.run(key));
    if (done) this.#watchers.tell(key, null);
    return done;
  }

  async watch(prefix: string, changed: (key: string, entry: Entry | null) => void) {
    for (const entry of await this.list(prefix)) changed(entry.key, entry);
    return this.#watchers.add(prefix, changed);
  }

  revision(): number {
    return this.#revision;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watchers.clear();
    if (this.#database.isOpen) this.#database.close();
  }

  #changeInSpareRoom(key: string, expectedRevision: number, write: (revision: number) => void): boolean {
    for (;;) {
      try {
        return this.#change(key, expectedRevision, write);
      } catch (error) {
        const isFull = error instanceof UnwritableError && isDiskFull(error.cause);
        if (!isFull || !this.#spareRoom.giveUp()) throw error;
      }
    }
  }

  /** One transaction: compare the key's revision, count the store's, write. */
  #change(key: string, expectedRevision: number, write: (revision: number) => void): boolean {
    this.#checkPlace();
    this.#database.exec('begin immediate');
    try {
      const row = this.#statements.get.get(key) as Row | undefined;
      if ((row?.revision ?? 0) !== expectedRevision) {
        this.#database.exec('rollback');
        return false;
      }
      const revision = this.#revision + 1;
      this.#statements.count.run(revision);
      write(revision);
      this.#database.exec('commit');
      this.#revision = revision;
      return true;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('rollback');
      throw isDiskFull(error) ? unwritable('the disk of the data folder is full', error) : error;
    }
  }

  #checkPlace(): void {
    try {
      this.#place.check();
    } catch (error) {
      throw unwritable((error as Error).message, error);
    }
  }
}

const unwritable = (reason: string, cause: unknown): UnwritableError =>
  new UnwritableError(`Nothing was changed: ${reason}.`, { cause });

const sqliteFull = 13;
const isDiskFull = (error: unknown): boolean => (error as { errcode?: number }).errcode === sqliteFull;

function entryOf<T>(row: Row): Entry<T> {
  return { key: row.key, value: JSON.parse(row.value) as T, revision: row.revision };
}

function open(path: string): DatabaseSync {
  // Accounts are in it: for the owner's eyes only, whatever the folder's mode. Files beside it take its mode.
  closeSync(openSync(path, 'a', 0o600));
  const database = new DatabaseSync(path);
  try {
    checkWal(`${path}-wal`);
    checkOwner(database, path);
    checkEntries(database);
    database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma busy_timeout = 2000');
    database.exec(`begin immediate;
      create table if not exists entry(key text primary key, value text not null, revision integer not null) without rowid;
      create table if not exists store(id integer primary key check (id = 1), revision integer not null);
      insert or ignore into store values (1, 0);
      pragma application_id = ${applicationId};
      pragma user_version = ${schemaVersion};
      commit`);
    return database;
  } catch (error) {
    database.close();
    throw new Error(`cannot open the configuration file ${path}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function checkOwner(database: DatabaseSync, path: string): void {
  const { application_id: owner } = database.prepare('pragma application_id').get() as Record<string, number>;
  const { user_version: version } = database.prepare('pragma user_version').get() as Record<string, number>;
  const { tables } = database.prepare('select count(*) as tables from sqlite_schema').get() as {
    tables: number;
  };
  if (owner === 0 && tables === 0) return;
  if (owner !== applicationId) throw new Error(`${path} is not a configuration of this product`);
  if ((version as number) > schemaVersion) throw new Error(`written by a newer version (schema ${version})`);
}

/** A damaged entry is told at once, not by the first request that needs it. */
function checkEntries(database: DatabaseSync): void {
  if (database.prepare("select 1 from sqlite_schema where name = 'entry'").get() === undefined) return;
  for (const { key, value } of database.prepare('select key, value from entry').iterate()) {
    try {
      JSON.parse(value as string);
    } catch (error) {
      throw new Error(`the entry "${key}" is damaged`, { cause: error });
    }
  }
}

function prepare(database: DatabaseSync) {
  const statement = (sql: string): StatementSync => database.prepare(sql);
  return {
    revision: statement('select revision from store where id = 1'),
    count: statement('update store set revision = ? where id = 1'),
    get: statement('select key, value, revision from entry where key = ?'),
    list: statement('select key, value, revision from entry where key >= ? order by key'),
    put: statement(
      'insert into entry values (?, ?, ?) on conflict(key) do update set value = excluded.value, revision = excluded.revision',
    ),
    delete: statement('delete from entry where key = ?'),
  };
}
