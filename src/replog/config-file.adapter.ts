// Opens, migrates and verifies the file of the embedded configuration store. Each entry has a checksum and the store's row has the sum of
// all of them, so that a flipped bit or a missing entry is detected before anything is served.
import { closeSync, openSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { checkCommits, hasWal, readOnly } from '#ports/commit-counter.ts';
import { checkWal } from '#ports/wal-check.ts';

/** "DVNC": identifies the file as ours. */
const applicationId = 0x44564e43;
/** Version 2 adds checksums and the in-use flag. */
const schemaVersion = 2;

export interface EntryRow {
  key: string;
  value: string;
  revision: number;
  checksum: number;
}

export interface StoreRow {
  revision: number;
  /** The sum of the checksums of all entries, modulo 2^32. */
  sum: number;
  /** 1 while a process uses the file, 0 after a clean stop. */
  in_use: number;
}

export const entryChecksum = ({ key, value, revision }: Omit<EntryRow, 'checksum'>): number =>
  crc32(JSON.stringify([key, revision, value]));

const storeChecksum = ({ revision, sum, in_use }: StoreRow): number =>
  crc32(JSON.stringify([revision, sum, in_use]));

export const addChecksum = (sum: number, change: number): number => (sum + change) >>> 0;

/** Throws for an entry that fails its checksum, naming it. */
export function checkEntry(row: EntryRow): void {
  if (row.checksum !== entryChecksum(row)) throw new Error(`the entry "${row.key}" is damaged`);
}

/** Opens or creates the file and marks it as in use. Throws for a damaged file and leaves it unchanged. */
export function openConfigFile(path: string): { database: DatabaseSync; state: StoreRow } {
  // Readable by the owner only, whatever the mode of the folder: it contains accounts. SQLite gives its other files the same mode.
  closeSync(openSync(path, 'a', 0o600));
  let database: DatabaseSync | null = null;
  try {
    const version = statSync(path).size > 0 ? checkFile(path) : 0;
    database = new DatabaseSync(path);
    database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma busy_timeout = 2000');
    return { database, state: begin(database, version) };
  } catch (error) {
    database?.close();
    throw new Error(`cannot open the configuration file ${path}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

export const putState = `update store set revision = ?, sum = ?, in_use = ?, checksum = ? where id = 1`;
export const putEntry = `insert into entry(key, value, revision, checksum) values (?, ?, ?, ?) on conflict(key)
  do update set value = excluded.value, revision = excluded.revision, checksum = excluded.checksum`;
export const deleteEntry = 'delete from entry where key = ?';
export const boundState = (state: StoreRow): number[] => [
  state.revision,
  state.sum,
  state.in_use,
  storeChecksum(state),
];

function begin(database: DatabaseSync, version: number): StoreRow {
  database.exec('begin immediate');
  if (version === 0)
    database.exec(`
      create table entry(key text primary key, value text not null, revision integer not null, checksum integer) without rowid;
      create table store(id integer primary key check (id = 1), revision integer not null, sum integer, in_use integer, checksum integer);
      insert into store(id, revision) values (1, 0)`);
  if (version === 1)
    database.exec(`
      alter table entry add column checksum integer;
      alter table store add column sum integer;
      alter table store add column in_use integer;
      alter table store add column checksum integer`);
  if (version < schemaVersion) addChecksums(database);
  const state: StoreRow = { ...storeRow(database), in_use: 1 };
  database.prepare(putState).run(...boundState(state));
  database.exec(`pragma application_id = ${applicationId}; pragma user_version = ${schemaVersion}; commit`);
  // Checkpoint the flag into the file: if it were in the WAL only, a lost WAL would leave a file that claims a clean stop.
  database.exec('pragma wal_checkpoint(truncate)');
  return state;
}

function addChecksums(database: DatabaseSync): void {
  const put = database.prepare('update entry set checksum = ? where key = ?');
  let sum = 0;
  for (const row of entries(database)) {
    const checksum = entryChecksum(row);
    put.run(checksum, row.key);
    sum = addChecksum(sum, checksum);
  }
  database.prepare('update store set sum = ?').run(sum);
}

function versionOf(database: DatabaseSync): { owner: number; version: number; tables: number } {
  const { application_id: owner } = database.prepare('pragma application_id').get() as Record<string, number>;
  const { user_version: version } = database.prepare('pragma user_version').get() as Record<string, number>;
  const { tables } = database.prepare('select count(*) as tables from sqlite_schema').get() as {
    tables: number;
  };
  return { owner: Number(owner), version: Number(version), tables };
}

function checkOwner(database: DatabaseSync, path: string): void {
  const { owner, version, tables } = versionOf(database);
  if (owner === 0 && version === 0 && tables === 0) return;
  if (owner !== applicationId) throw new Error(`${path} is not a configuration file of Divan`);
  if (version > schemaVersion) throw new Error(`written by a newer version (schema ${version})`);
  const hasChecksums = columnsOf(database, 'entry').includes('checksum');
  if (version < 1 || hasChecksums !== version > 1)
    throw new Error(`its header is damaged: it names schema ${version}, but its tables are of another one`);
}

/** Verifies all checksums and returns the schema version; throws for damage. */
function checkFile(path: string): number {
  checkWal(`${path}-wal`);
  const hadWal = hasWal(path);
  return readOnly(path, (database) => {
    checkOwner(database, path);
    const { version } = versionOf(database);
    if (version > 0) checkEntries(database, version);
    if (version > 1) checkCommitCount(path, database, hadWal);
    return version;
  });
}

function checkCommitCount(path: string, database: DatabaseSync, hadWal: boolean): void {
  const { revision, in_use } = storeRow(database);
  checkCommits(path, { commits: revision, isInUse: in_use === 1, hadWal });
}

/** Verifies at the start, not when a request first needs the entry. */
function checkEntries(database: DatabaseSync, version: number): void {
  const { integrity_check: found } = database.prepare('pragma integrity_check(1)').get() as Record<
    string,
    unknown
  >;
  if (found !== 'ok') throw new Error(`it is damaged: ${found}`);
  let sum = 0;
  for (const row of entries(database)) {
    if (version > 1) checkEntry(row);
    checkJson(row);
    sum = addChecksum(sum, row.checksum);
  }
  if (version === 1) return;
  const state = storeRow(database);
  if (state.checksum !== storeChecksum(state)) throw new Error('the row of its revision is damaged');
  if (state.sum !== sum) throw new Error('entries are missing');
}

function checkJson({ key, value }: EntryRow): void {
  try {
    JSON.parse(value);
  } catch (error) {
    throw new Error(`the entry "${key}" is damaged`, { cause: error });
  }
}

export const entries = (database: DatabaseSync): EntryRow[] =>
  database.prepare('select * from entry order by key').all() as unknown as EntryRow[];

function storeRow(database: DatabaseSync): StoreRow & { checksum: number } {
  const row = database.prepare('select * from store where id = 1').get();
  if (row === undefined) throw new Error('the row of its revision is missing');
  return row as unknown as StoreRow & { checksum: number };
}

const columnsOf = (database: DatabaseSync, table: string): unknown[] =>
  database
    .prepare('select name from pragma_table_info(?)')
    .all(table)
    .map(({ name }) => name);
