// Detects damage of the cloud's SQLite file that SQLite itself does not check for: triggers maintain for each table the number of its
// rows and the sum of their checksums, so that a flipped bit or a lost row is found when the file is opened.
import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { commitTable } from './commits.adapter.ts';

/** The number of rows and the checksum of one table. */
interface TableChecksum {
  name: string;
  /** The columns that the checksum covers, as JSON. */
  columns: string;
  rows: number;
  /** Modulo 2^32. */
  sum: number;
}

/** In existing files the table and the triggers are named for seals, which are the checksums. */
const checksumTable = 'divan_seals';
const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** SQL of the sum of an expression modulo 2^32. A sum of doubles, as which numbers of functions arrive, is inexact above some million rows. */
export const sumModulo = (expression: string): string =>
  `coalesce(sum(cast(${expression} as integer)), 0) & 4294967295`;

export class TableChecksums {
  private readonly database: DatabaseSync;

  /** Registers the checksum function, which every writing connection needs. */
  constructor(database: DatabaseSync) {
    this.database = database;
    database.function('divan_checksum', { varargs: true, deterministic: true }, (...values) =>
      crc32(JSON.stringify(values.map(String))),
    );
  }

  /** Throws for a damaged table, naming it. Files of older versions have no checksums. */
  check(): void {
    this.inTransaction('begin', () => {
      const { integrity_check: found } = this.database.prepare('pragma integrity_check(1)').get() as {
        integrity_check: string;
      };
      if (found !== 'ok') throw new Error(`it is damaged: ${found}`);
      if (this.hasChecksums()) this.checkTables();
      else if (this.triggers().size > 0)
        throw new Error(`it is damaged: the table ${checksumTable} is missing`);
    });
  }

  /** Drops checksums and triggers before a migration. */
  drop(): void {
    this.inTransaction('begin immediate', () => {
      for (const name of this.triggers().keys()) this.database.exec(`drop trigger ${quoted(name)}`);
      this.database.exec(`drop table if exists ${checksumTable}`);
    });
  }

  /** Creates missing checksums and triggers. */
  createMissing(): void {
    const missing = (): string[] => {
      const present = this.hasChecksums() ? this.checksums().map(({ name }) => name) : [];
      return this.tables().filter((name) => !present.includes(name));
    };
    if (missing().length === 0) return;
    this.inTransaction('begin immediate', () => {
      this.database.exec(
        `create table if not exists ${checksumTable}(name text primary key, columns text not null, rows integer not null, sum integer not null) without rowid`,
      );
      for (const name of missing()) this.add(name);
    });
  }

  private checkTables(): void {
    const checksums = this.checksums();
    const tables = this.tables();
    const triggers = this.triggers();
    for (const { name } of checksums)
      if (!tables.includes(name)) throw new Error(`it is damaged: the table ${name} is missing`);
    for (const name of tables) {
      const checksum = checksums.find((candidate) => candidate.name === name);
      const triggersOfTable = this.triggersOf(name);
      // A new table of a migration has neither checksum nor triggers yet.
      if (checksum === undefined && ![...triggersOfTable.keys()].some((trigger) => triggers.has(trigger)))
        continue;
      if (checksum === undefined || !this.isWhole(checksum))
        throw new Error(`it is damaged: rows of the table ${name} have changed since they were written`);
      for (const [trigger, sql] of triggersOfTable)
        if (triggers.get(trigger) !== sql) throw new Error(`it is damaged: the trigger ${trigger}`);
    }
  }

  private isWhole({ name, columns, rows, sum }: TableChecksum): boolean {
    const present = this.columnsOf(name);
    if (columns !== JSON.stringify(present)) return false;
    const found = this.sumOf(name);
    return found.rows === rows && found.sum === sum;
  }

  private add(name: string): void {
    const { rows, sum } = this.sumOf(name);
    const columns = JSON.stringify(this.columnsOf(name));
    this.database.prepare(`insert into ${checksumTable} values (?, ?, ?, ?)`).run(name, columns, rows, sum);
    for (const sql of this.triggersOf(name).values()) this.database.exec(sql);
  }

  private sumOf(name: string): { rows: number; sum: number } {
    return this.database
      .prepare(`select count(*) as rows, ${sumModulo(this.checksum(name, ''))} as sum from ${quoted(name)}`)
      .get() as { rows: number; sum: number };
  }

  private triggersOf(name: string): Map<string, string> {
    const added = this.checksum(name, 'new.');
    const removed = this.checksum(name, 'old.');
    const change = (rows: string, sum: string): string =>
      `update ${checksumTable} set rows = rows ${rows}, sum = (sum ${sum}) & 4294967295 where name = '${name}'`;
    const changes = {
      insert: change('+ 1', `+ ${added}`),
      update: change('+ 0', `+ ${added} - ${removed}`),
      delete: change('- 1', `- ${removed}`),
    };
    return new Map(
      Object.entries(changes).map(([event, sql]) => {
        const trigger = `divan_seal_${event}_${name}`;
        return [trigger, `CREATE TRIGGER ${trigger} after ${event} on ${quoted(name)} begin ${sql}; end`];
      }),
    );
  }

  private checksum(name: string, prefix: string): string {
    const values = this.columnsOf(name).map(
      (column) => `typeof(${prefix}${quoted(column)}), ${prefix}${quoted(column)}`,
    );
    return `divan_checksum(${values.join(', ')})`;
  }

  private hasChecksums(): boolean {
    return this.names('select name from sqlite_schema where name = ?', checksumTable).length > 0;
  }

  /** The tables with checksums: all but SQLite's, that of the checksums, and the count of commits, of which another file has a copy. */
  private tables(): string[] {
    return this.names(
      "select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\'",
    ).filter((name) => name !== checksumTable && name !== commitTable);
  }

  private triggers(): Map<string, string> {
    const rows = this.database
      .prepare(
        "select name, sql from sqlite_schema where type = 'trigger' and name like 'divan\\_seal%' escape '\\'",
      )
      .all() as { name: string; sql: string }[];
    return new Map(rows.map(({ name, sql }) => [name, sql]));
  }

  private checksums(): TableChecksum[] {
    return this.database.prepare(`select * from ${checksumTable}`).all() as unknown as TableChecksum[];
  }

  private columnsOf(table: string): string[] {
    return this.names('select name from pragma_table_info(?) order by cid', table);
  }

  private names(sql: string, ...values: string[]): string[] {
    return (this.database.prepare(sql).all(...values) as { name: string }[]).map(({ name }) => name);
  }

  private inTransaction(begin: string, act: () => void): void {
    this.database.exec(begin);
    try {
      act();
      this.database.exec('commit');
    } finally {
      if (this.database.isTransaction) this.database.exec('rollback');
    }
  }
}
