// The cloud's database in a file, through the runtime's own SQLite.
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { Kysely, type SqliteDatabase, SqliteDialect } from 'kysely';
import type { Store, Tables } from './tables.ts';

const statementsKept = 200;
const answersKept = 500;
const rowsKept = 100;

export function openSqlite(path: string): Store {
  const database = new DatabaseSync(path);
  database.exec(
    'pragma journal_mode=wal; pragma synchronous=full; pragma foreign_keys=on; pragma busy_timeout=5000',
  );
  return new Kysely<Tables>({ dialect: new SqliteDialect({ database: adapt(database) }) });
}

function adapt(database: DatabaseSync): SqliteDatabase {
  const answers = new Answers(database);
  const prepared = new Map<string, ReturnType<typeof statement>>();
  return {
    close: () => database.close(),
    prepare(sql) {
      const known = prepared.get(sql);
      if (known !== undefined) return known;
      if (prepared.size >= statementsKept) prepared.clear();
      const made = statement(sql, database.prepare(sql), answers);
      prepared.set(sql, made);
      return made;
    },
  };
}

type Bound = Parameters<StatementSync['all']>;

/** Answers to the same question again, as long as nobody wrote: neither this connection nor any other process. */
class Answers {
  private readonly database: DatabaseSync;
  private readonly version: StatementSync;
  private readonly changes: StatementSync;
  private readonly kept = new Map<string, readonly object[]>();
  private asOf = '';

  constructor(database: DatabaseSync) {
    this.database = database;
    this.version = database.prepare('pragma data_version');
    this.changes = database.prepare('select total_changes() as n');
  }

  /** Copies, since whoever gets rows may write into them. */
  to(sql: string, parameters: readonly unknown[], ask: () => object[]): object[] {
    if (this.database.isTransaction || !sql.startsWith('select')) return ask();
    this.forgetOld();
    const question = `${sql}\n${JSON.stringify(parameters)}`;
    const known = this.kept.get(question) ?? this.keep(question, ask());
    return known.map((row) => ({ ...row }));
  }

  private forgetOld(): void {
    const now = `${this.version.get()?.['data_version']} ${this.changes.get()?.['n']}`;
    if (now !== this.asOf || this.kept.size >= answersKept) this.kept.clear();
    this.asOf = now;
  }

  private keep(question: string, rows: readonly object[]): readonly object[] {
    if (rows.length <= rowsKept) this.kept.set(question, rows);
    return rows;
  }
}

function statement(sql: string, prepared: StatementSync, answers: Answers) {
  return {
    reader: prepared.columns().length > 0,
    all: (parameters: readonly unknown[]) =>
      answers.to(sql, parameters, () => prepared.all(...(parameters as Bound))),
    run: (parameters: readonly unknown[]) => prepared.run(...(parameters as Bound)),
    iterate: (parameters: readonly unknown[]) => prepared.iterate(...(parameters as Bound)),
  };
}
