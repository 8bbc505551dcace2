// Counts the commits to the cloud's SQLite file, in the file and in a small one beside it, so that a lost or shortened write-ahead log and an
// older copy of the file are detected. Several processes may have the file open: the cloud, and commands of its operator.
import { statSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { CommitCounter, checkCommits, countedCommits, hasWal, readOnly } from '#ports/commit-counter.ts';
import { checkWal } from '#ports/wal-check.ts';
import { isDiskFull } from './disk-full.ts';

export const commitTable = 'divan_commits';

/** Another process may restart the log while this one reads it; the log then looks damaged. */
const checksMax = 3;

/** Throws if the file lacks commits; does not change it. Called before the file is opened for writing, which would truncate its log. */
export function checkCommitCount(path: string): void {
  for (let checks = 1; ; checks++) {
    try {
      checkOnce(path);
      return;
    } catch (error) {
      if (checks === checksMax) throw error;
    }
  }
}

function checkOnce(path: string): void {
  const counted = countedCommits(path);
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) {
    if (counted === null || counted === 0) return;
    throw new Error(`it is missing or empty, though it had ${counted} commits`);
  }
  const hadWal = hasWal(path);
  checkWal(`${path}-wal`);
  const found = readOnly(path, stateOf);
  if (counted === null && found === null) return;
  const { commits, in_use } = found ?? { commits: 0, in_use: 0 };
  checkCommits(path, { commits, isInUse: in_use === 1, hadWal }, counted);
}

/** The stored count; null in files of older versions. */
function stateOf(database: DatabaseSync): { commits: number; in_use: number } | null {
  const existing = database.prepare('select 1 from sqlite_schema where name = ?').get(commitTable);
  if (existing === undefined) return null;
  return database.prepare(`select commits, in_use from ${commitTable}`).get() as {
    commits: number;
    in_use: number;
  };
}

export class CommitCount {
  private readonly database: DatabaseSync;
  private readonly path: string;
  private counting: { raise: StatementSync; read: StatementSync; counter: CommitCounter } | null = null;
  private hasWritten = false;

  constructor(database: DatabaseSync, path: string) {
    this.database = database;
    this.path = path;
  }

  /** Marks the file as in use and starts counting. Called once the file is known to be undamaged. */
  start(): void {
    if (this.counting !== null) return;
    const { database } = this;
    try {
      database.exec(`begin immediate;
        create table if not exists ${commitTable}(id integer primary key check (id = 1), commits integer not null, in_use integer not null);
        insert into ${commitTable} values (1, 0, 1) on conflict(id) do update set in_use = 1;
        commit`);
      // Writes the mark to the file itself: if only the log had it and were lost, the file would look cleanly closed.
      database.exec('pragma wal_checkpoint(truncate)');
    } catch (error) {
      if (database.isTransaction) database.exec('rollback');
      // On a full disk the table of an earlier start is used; without one, this process does not count.
      if (!isDiskFull(error)) throw error;
      if (stateOf(database) === null) return;
    }
    const read = database.prepare(`select commits from ${commitTable}`);
    this.counting = {
      read,
      // Another process may have removed the mark when it closed.
      raise: database.prepare(`update ${commitTable} set commits = commits + 1, in_use = 1`),
      counter: new CommitCounter(this.path, Number(read.get()?.['commits'])),
    };
  }

  /** Runs a statement that writes, in a transaction with its count. */
  write<T>(act: () => T): T {
    const { database } = this;
    if (this.counting === null) return act();
    this.hasWritten = true;
    if (database.isTransaction) return act();
    database.exec('begin immediate');
    try {
      const result = act();
      this.commit(() => database.exec('commit'));
      return result;
    } catch (error) {
      // SQLite may have rolled it back already, on a full disk.
      if (database.isTransaction) database.exec('rollback');
      throw error;
    }
  }

  /** Raises the count if the transaction wrote. */
  commit<T>(act: () => T): T {
    if (this.counting === null || !this.hasWritten) return act();
    const { raise, read, counter } = this.counting;
    raise.run();
    const commits = Number(read.get()?.['commits']);
    const result = act();
    this.hasWritten = false;
    counter.count(commits);
    return result;
  }

  /** Called after a rollback: the next commit contains nothing of the transaction. */
  rolledBack(): void {
    this.hasWritten = false;
  }

  /** SQLite writes the removal of the mark to the file when the last connection closes. A mark that stays is not damage if the counts agree. */
  close(): void {
    if (this.counting === null) return;
    try {
      this.database.exec(`update ${commitTable} set in_use = 0`);
    } catch {
      // On a full disk the mark stays.
    }
    this.counting.counter.close();
    this.counting = null;
  }
}
