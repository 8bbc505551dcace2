// Loops over all rows of a partition or of a join's matches, which may be any number, with pauses for other requests.
import type { Run } from './run.ts';

type Yielding = Pick<Run, 'yieldIfDue'>;

/** Rows between two looks at the clock: less than a millisecond of work that evaluates no expression. */
const rowsAtOnce = 4_096;

/** Calls `work` for consecutive parts of the rows from `start` to before `end`; a promise if there are several. */
export function inChunks(
  run: Yielding,
  start: number,
  end: number,
  work: (from: number, to: number) => void,
): Promise<void> | undefined {
  if (end - start > rowsAtOnce) return inSeveral(run, start, end, work);
  if (end > start) work(start, end);
  return undefined;
}

async function inSeveral(
  run: Yielding,
  start: number,
  end: number,
  work: (from: number, to: number) => void,
): Promise<void> {
  for (let from = start; from < end; from += rowsAtOnce) {
    work(from, Math.min(end, from + rowsAtOnce));
    await run.yieldIfDue();
  }
}

/** Calls `work` for each row. It evaluates no expressions: that is for `Run.each`. */
export function eachInChunks<T>(
  run: Yielding,
  rows: readonly T[],
  work: (row: T, at: number) => void,
): Promise<void> | undefined {
  return inChunks(run, 0, rows.length, (from, to) => {
    for (let at = from; at < to; at++) work(rows[at] as T, at);
  });
}
