// The cloud's database in a file, through Node's SQLite.
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { Kysely, type SqliteDatabase, SqliteDialect } from 'kysely';
import { UnwritableError } from '#base/unwritable-error.ts';
import { keepPrivate } from '#ports/private-file.ts';
import { CommitCount, checkCommitCount } from './commits.adapter.ts';
import { isDiskFull } from './disk-full.ts';
import type { OpenStore, StoreState } from './state.ts';
import { TableChecksums } from './table-checksums.adapter.ts';
import type { Tables } from './tables.ts';

const preparedMax = 200;

const inMemory = ':memory:';

/** Throws for a file that lost commits, and does not change it. */
export function openSqlite(path: string): OpenStore {
  if (path !== inMemory) {
    checkCommitCount(path);
    keepPrivate(path);
  }
  const database = new DatabaseSync(path);
  database.exec(
    'pragma journal_mode=wal; pragma synchronous=full; pragma foreign_keys=on; pragma busy_timeout=5000',
  );
  const state = new SqliteState(database);
  const checksums = new TableChecksums(database);
  const count = new CommitCount(database, path);
  return {
    checksums: {
      check: () => checksums.check(),
      beforeMigration: () => checksums.drop(),
      afterMigrations: () => {
        checksums.createMissing();
        if (path !== inMemory) count.start();
      },
    },
    store: new Kysely<Tables>({ dialect: new SqliteDialect({ database: adapt(database, state, count) }) }),
    state,
  };
}

function adapt(database: DatabaseSync, state: SqliteState, count: CommitCount): SqliteDatabase {
  const prepared = new Map<string, ReturnType<typeof statement>>();
  return {
    close: () => {
      count.close();
      database.close();
    },
    prepare(sql) {
      const cached = prepared.get(sql);
      if (cached !== undefined) return cached;
      if (sql === 'rollback') return rollbackOf(database, count);
      if (prepared.size >= preparedMax) prepared.clear();
      const created = statement(database.prepare(sql), (act) => {
        if (sql.startsWith('select')) return act();
        state.changed();
        if (sql === 'commit') return count.commit(act);
        return writes.test(sql) ? count.write(act) : act();
      });
      prepared.set(sql, created);
      return created;
    },
  };
}

const writes = /^\s*(insert|update|delete|replace|with|create|alter|drop)\b/i;

/** On a full disk SQLite may have rolled back already: a second rollback would hide that error. */
function rollbackOf(database: DatabaseSync, count: CommitCount): ReturnType<typeof statement> {
  const rollback = statement(database.prepare('rollback'), (act) => act());
  const nothing = { changes: 0, lastInsertRowid: 0 };
  return {
    ...rollback,
    run: (parameters) => {
      count.rolledBack();
      return database.isTransaction ? rollback.run(parameters) : nothing;
    },
  };
}

type Bound = Parameters<StatementSync['all']>;

/** `around` runs each execution of the statement. */
function statement(prepared: StatementSync, around: <T>(act: () => T) => T) {
  const run = <T>(act: () => T): T => {
    try {
      return around(act);
    } catch (error) {
      throw isDiskFull(error) ? new UnwritableError(diskFull, { cause: error }) : error;
    }
  };
  return {
    reader: prepared.columns().length > 0,
    all: (parameters: readonly unknown[]) => run(() => prepared.all(...(parameters as Bound))),
    run: (parameters: readonly unknown[]) => run(() => prepared.run(...(parameters as Bound))),
    iterate: (parameters: readonly unknown[]) => run(() => prepared.iterate(...(parameters as Bound))),
  };
}

const diskFull = 'the disk of the data folder is full';

/** Counts this process's writes; writes of other processes change `data_version`. */
class SqliteState implements StoreState {
  private readonly database: DatabaseSync;
  private readonly version: StatementSync;
  private changes = 0;

  constructor(database: DatabaseSync) {
    this.database = database;
    this.version = database.prepare('pragma data_version');
  }

  changed(): void {
    this.changes++;
  }

  /** Inside a transaction `data_version` does not change, so each read in a transaction returns a new state. */
  read(): string {
    if (this.database.isTransaction) this.changed();
    return `${this.changes} ${this.version.get()?.['data_version']}`;
  }
}
