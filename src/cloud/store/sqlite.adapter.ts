// The cloud's database in a file, through the runtime's own SQLite.
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { Kysely, type SqliteDatabase, SqliteDialect } from 'kysely';
import { UnwritableError } from '#base/unwritable-error.ts';
import { keepPrivate } from '#ports/private-file.ts';
import { Seals } from './seals.adapter.ts';
import type { OpenStore, StoreState } from './state.ts';
import type { Tables } from './tables.ts';

const statementsKept = 200;

export function openSqlite(path: string): OpenStore {
  if (path !== ':memory:') keepPrivate(path);
  const database = new DatabaseSync(path);
  database.exec(
    'pragma journal_mode=wal; pragma synchronous=full; pragma foreign_keys=on; pragma busy_timeout=5000',
  );
  const state = new SqliteState(database);
  const seals = new Seals(database);
  return {
    seals,
    store: new Kysely<Tables>({ dialect: new SqliteDialect({ database: adapt(database, state) }) }),
    state,
  };
}

function adapt(database: DatabaseSync, state: SqliteState): SqliteDatabase {
  const prepared = new Map<string, ReturnType<typeof statement>>();
  return {
    close: () => database.close(),
    prepare(sql) {
      const known = prepared.get(sql);
      if (known !== undefined) return known;
      if (sql === 'rollback') return rollbackOf(database);
      if (prepared.size >= statementsKept) prepared.clear();
      const made = statement(
        database.prepare(sql),
        sql.startsWith('select') ? () => {} : () => state.changed(),
      );
      prepared.set(sql, made);
      return made;
    },
  };
}

/** A full disk may have ended the transaction already; report that error. */
function rollbackOf(database: DatabaseSync): ReturnType<typeof statement> {
  const made = statement(database.prepare('rollback'), () => {});
  const nothing = { changes: 0, lastInsertRowid: 0 };
  return { ...made, run: (parameters) => (database.isTransaction ? made.run(parameters) : nothing) };
}

type Bound = Parameters<StatementSync['all']>;

/** `before` is called before each statement. */
function statement(prepared: StatementSync, before: () => void) {
  const run = <T>(act: () => T): T => {
    before();
    try {
      return act();
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

/** SQLITE_FULL, and SQLITE_IOERR_SHMSIZE: no space to enlarge the index of the log. */
const isDiskFull = (error: unknown): boolean =>
  [13, 4874].includes((error as { errcode?: number } | null)?.errcode ?? 0);

/** Counts own writes; writes of other processes change `data_version`. */
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

  /** Inside a transaction `data_version` does not change, so a transaction always has a state of its own. */
  read(): string {
    if (this.database.isTransaction) this.changed();
    return `${this.changes} ${this.version.get()?.['data_version']}`;
  }
}
