// Compares the two tables of an index file page by page, between commits. Each page is one read, so that what is written
// between pages does not look like damage.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { primaryKey } from '../keys/primary-key.ts';
import { sql } from './file-schema.ts';

/** About two microseconds a row, during which the index follows no changes. */
const pageRows = 1_000;

/** The columns of a table in the order of its primary key, which the statements of file-schema.ts call `a` and `b`. */
type Row = readonly [a: Uint8Array, b: Uint8Array];

const nothing = new Uint8Array();
const start: Row = [nothing, nothing];

export class TableComparison {
  private readonly pages: readonly StatementSync[];
  private readonly isPrimary: boolean;
  /** The table that is read. */
  private table = 0;
  /** The last row that was read. */
  private last: Row = start;

  constructor(db: DatabaseSync, isPrimary: boolean) {
    this.isPrimary = isPrimary;
    const texts = isPrimary ? [sql.primaryPage] : [sql.entryPage, sql.backPage];
    this.pages = texts.map((text) => db.prepare(text));
  }

  /** Compares the next page. */
  next(): 'different' | 'rows remain' | 'complete' {
    const page = this.pages[this.table];
    if (page === undefined) return 'complete';
    const rows = page.all(...this.last, pageRows) as { a: Uint8Array; b: Uint8Array; isThere: number }[];
    if (!rows.every((row) => this.isWhole(row))) return 'different';
    const end = rows.at(-1);
    if (rows.length === pageRows && end) this.last = [end.a, end.b];
    else {
      this.table++;
      this.last = start;
    }
    return this.table < this.pages.length ? 'rows remain' : 'complete';
  }

  /** Whether the other table has the row too; in a primary index, whether the key is that of the id. */
  private isWhole({ a, b, isThere }: { a: Uint8Array; b: Uint8Array; isThere: number }): boolean {
    return this.isPrimary ? primaryKey(b).equals(a) : isThere === 1;
  }
}
