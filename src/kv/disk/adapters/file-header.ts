// What the header of a data file says of its last process.
import type { DatabaseSync } from 'node:sqlite';
import { sql } from '../schema.ts';

export const headerOf = (db: DatabaseSync): Map<unknown, unknown> =>
  new Map(
    db
      .prepare(sql.header)
      .all()
      .map((row) => [row['k'], row['v']]),
  );

/** Null in files of older versions, which did not count commits. */
export const commitsIn = (header: ReadonlyMap<unknown, unknown>): number | null => {
  const commits = header.get('commits');
  return typeof commits === 'number' ? commits : null;
};

/** Null in files of older versions too. */
export const closedBy = (header: ReadonlyMap<unknown, unknown>): string | null => {
  const by = header.get('closedBy');
  return typeof by === 'string' && by !== '' ? by : null;
};
