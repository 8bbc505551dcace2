// A copy of the whole configuration in a file of the data folder, in the format of the embedded store: a member of a cluster starts from
// it while the founder cannot be reached, and continues with it as the founder. All changes that came together are written in one transaction.
import { existsSync, renameSync, rmSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { CommitCounter, counterSuffix } from '#ports/commit-counter.ts';
import {
  addChecksum,
  boundState,
  deleteEntry,
  entries,
  entryChecksum,
  openConfigFile,
  putEntry,
  putState,
  type StoreRow,
} from '../config-file.adapter.ts';
import type { StoreContent, StoredRecord } from './config-link.ts';

interface OpenFile {
  readonly database: DatabaseSync;
  readonly counter: CommitCounter;
  state: StoreRow;
}

/** The files of a SQLite database and of its number of commits. */
const suffixes = ['', '-wal', '-shm', counterSuffix];

const filesAt = (path: string): string[] => suffixes.map((suffix) => path + suffix);

export class ConfigCopyFile {
  readonly #path: string;
  #open: OpenFile | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  get path(): string {
    return this.#path;
  }

  /** Reads the revision and the records; `records` is empty if nothing has been saved. Throws for a damaged file, and leaves it unchanged. */
  load(): StoreContent {
    const { database, state } = this.#opened();
    const records = entries(database).map(({ key, value, revision }) => ({
      key,
      json: value,
      revision,
      writes: null,
    }));
    return { revision: state.revision, records };
  }

  /** Writes changed records, durably. Throws when it cannot. */
  save({ revision, records }: StoreContent): void {
    const open = this.#opened();
    const { database } = open;
    try {
      database.exec('begin immediate');
      let { sum } = open.state;
      for (const record of records) sum = addChecksum(sum, writeRecord(database, record));
      const state = { ...open.state, sum, revision };
      database.prepare(putState).run(...boundState(state));
      database.exec('commit');
      open.state = state;
      open.counter.count(revision);
    } catch (error) {
      if (database.isTransaction) database.exec('rollback');
      throw error;
    }
  }

  /** Removes the file: the next change begins a new one. */
  remove(): void {
    this.#discard();
    for (const path of filesAt(this.#path)) rmSync(path, { force: true });
  }

  /** Renames the file for an operator to look at: the next change begins a new one. */
  setAside(): void {
    this.#discard();
    const aside = `${this.#path}.unusable`;
    for (const path of filesAt(aside)) rmSync(path, { force: true });
    for (const suffix of suffixes)
      if (existsSync(this.#path + suffix)) renameSync(this.#path + suffix, aside + suffix);
  }

  /** Marks the file as closed and closes it. Throws when it cannot be marked; it is closed nevertheless. */
  close(): void {
    const open = this.#open;
    if (open === null) return;
    this.#open = null;
    const { database, counter, state } = open;
    try {
      database.prepare(putState).run(...boundState({ ...state, in_use: 0 }));
      database.exec('pragma wal_checkpoint(truncate)');
    } finally {
      database.close();
      counter.close();
    }
  }

  /** Closes a file that is not used again: a failure does not matter. */
  #discard(): void {
    try {
      this.close();
    } catch {
      // The file is removed or renamed as it is.
    }
  }

  #opened(): OpenFile {
    if (this.#open !== null) return this.#open;
    const { database, state } = openConfigFile(this.#path);
    this.#open = { database, state, counter: new CommitCounter(this.#path, state.revision) };
    return this.#open;
  }
}

/** Writes a revision and all its records as the configuration file of an embedded store. The file gets its name once it is complete and on disk. */
export function writeConfigFile(path: string, content: StoreContent): void {
  const file = new ConfigCopyFile(`${path}.next`);
  file.remove();
  file.save(content);
  file.close();
  for (const old of filesAt(path)) rmSync(old, { force: true });
  for (const suffix of ['', counterSuffix]) renameSync(`${path}.next${suffix}`, path + suffix);
}

/** Returns the change of the sum of all checksums. */
function writeRecord(database: DatabaseSync, { key, json, revision }: StoredRecord): number {
  const before = database.prepare('select checksum from entry where key = ?').get(key)?.['checksum'] ?? 0;
  if (json === null) {
    database.prepare(deleteEntry).run(key);
    return -(before as number);
  }
  const checksum = entryChecksum({ key, value: json, revision });
  database.prepare(putEntry).run(key, json, revision, checksum);
  return checksum - (before as number);
}
