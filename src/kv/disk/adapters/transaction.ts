// Transactions of reads, which never change a file.
import type { DatabaseSync } from 'node:sqlite';
import { shrinkSql } from '../schema.ts';

/** `read` sees one snapshot of the file. Within a transaction of the caller it sees the caller's changes too. */
export function inOneTransaction<T>(db: DatabaseSync, read: () => T): T {
  if (db.isTransaction) return read();
  db.exec('begin');
  try {
    return read();
  } finally {
    db.exec('rollback');
  }
}

/** Calls `read` after `change` and rolls back. Changed pages stay in memory, so that a full disk does not matter. */
export function readAfterChange<T>(db: DatabaseSync, change: () => void, read: () => T): T {
  db.exec('pragma cache_spill=off; begin immediate');
  try {
    change();
    return read();
  } finally {
    if (db.isTransaction) db.exec('rollback');
    db.exec(`pragma cache_spill=on; ${shrinkSql}`);
  }
}
