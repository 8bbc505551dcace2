// Counts the documents with rows in any of several intervals.
import type { KeyInterval } from '../spans/intervals.ts';
import type { IndexReader, StoredRow } from '../store/index-store.ts';
import { pageRows } from './scan-rows.ts';

/** The most intervals that one SQLite statement counts. */
const countedIntervalsMax = 200;

export function distinctCount(reader: IndexReader, intervals: readonly KeyInterval[]): number {
  if (intervals.length <= countedIntervalsMax) return reader.countDistinct(intervals);
  const seen = new Set<string>();
  for (const interval of intervals) {
    let after: StoredRow | null = null;
    for (;;) {
      const page: readonly StoredRow[] = reader.page(interval, {
        after,
        isReverse: false,
        limit: pageRows.most,
      });
      for (const { key, id } of page) if (interval.accepts?.(key) ?? true) seen.add(id);
      after = page.at(-1) ?? null;
      if (page.length < pageRows.most) break;
    }
  }
  return seen.size;
}
