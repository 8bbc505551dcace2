// The cloud's database in a file, through the runtime's own SQLite.
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { Kysely, type SqliteDatabase, SqliteDialect } from 'kysely';
import type { Store, Tables } from './tables.ts';

const statementsKept = 200;

export function openSqlite(path: string): Store {
  const database = new DatabaseSync(path);
  database.exec(
    'pragma journal_mode=wal; pragma synchronous=full; pragma foreign_keys=on; pragma busy_timeout=5000',
  );
  return new Kysely<Tables>({ dialect: new SqliteDialect({ database: adapt(database) }) });
}

function adapt(database: DatabaseSync): SqliteDatabase {
  const prepared = new Map<string, ReturnType<typeof statement>>();
  return {
    close: () => database.close(),
    prepare(sql) {
      const known = prepared.get(sql);
      if (known !== undefined) return known;
      if (prepared.size >= statementsKept) prepared.clear();
      const made = statement(database.prepare(sql));
      prepared.set(sql, made);
      return made;
    },
  };
}

type Bound = Parameters<StatementSync['all']>;

function statement(prepared: StatementSync) {
  return {
    reader: prepared.columns().length > 0,
    all: (parameters: readonly unknown[]) => prepared.all(...(parameters as Bound)),
    run: (parameters: readonly unknown[]) => prepared.run(...(parameters as Bound)),
    iterate: (parameters: readonly unknown[]) => prepared.iterate(...(parameters as Bound)),
  };
}
