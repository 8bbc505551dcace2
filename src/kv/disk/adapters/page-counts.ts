// How many pages a data file has, and how many of them are free. Requested every second for every file while statistics are read, and every
// ten seconds otherwise, but read from a file only after a commit. Once a file has no new commits, its page cache is freed: SQLite allocates
// 160 KiB even for a single page.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { shrinkSql } from '../schema.ts';

export class PageCounts {
  private readonly db: DatabaseSync;
  /** Prepared once, since preparing the statement takes longer than running it. */
  private statements: { all: StatementSync; free: StatementSync } | null = null;
  private known: { commits: number; all: number; free: number } | null = null;
  private isShrunk = false;

  constructor(db: DatabaseSync) {
    this.db = db;
  }

  /** `commits` changes with every commit. */
  asOf(commits: number): { all: number; free: number } {
    const isIdle = this.known === null || this.known.commits === commits;
    if (this.known?.commits !== commits) {
      this.known = { commits, ...this.read() };
      this.isShrunk = false;
    }
    if (isIdle && !this.isShrunk) {
      this.db.exec(shrinkSql);
      this.isShrunk = true;
    }
    return this.known;
  }

  private read(): { all: number; free: number } {
    this.statements ??= {
      all: this.db.prepare('pragma page_count'),
      free: this.db.prepare('pragma freelist_count'),
    };
    return { all: numberOf(this.statements.all), free: numberOf(this.statements.free) };
  }
}

const numberOf = (statement: StatementSync): number => Number(Object.values(statement.get() ?? {})[0]);
