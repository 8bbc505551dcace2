// What a bucket's engine counts.
import type { EngineActivity } from '../activity.ts';
import type { Collections } from '../vbucket/collections.ts';
import type { VbucketRows } from '../vbucket/rows.ts';
import type { Flusher } from './flusher.ts';
import type { MemoryDocuments } from './memory-documents.ts';
import type { Timings } from './timings.ts';

export interface BucketStats {
  items: number;
  tombstones: number;
  memUsed: number;
  dirtyItems: number;
  /** Documents whose value is on disk only. */
  nonResident: number;
  /** Since start. */
  diskFetches: number;
  evictions: number;
  expired: number;
  /** Live items by collection id in lower-case hex. */
  collectionItems: Record<string, number>;
}

/** Until the keys are read there are at least as many items as the files say. */
export function countsOf(
  rows: VbucketRows,
  collections: Collections,
  expectedItems: number,
): Pick<BucketStats, 'items' | 'tombstones' | 'dirtyItems' | 'collectionItems'> {
  const counts = [...collections.itemCounts()].map(([id, count]) => [id.toString(16), count] as const);
  return {
    items: Math.max(sum(rows.items), expectedItems),
    tombstones: sum(rows.tombstones),
    dirtyItems: sum(rows.dirtyCount),
    collectionItems: Object.fromEntries(counts),
  };
}

export const activityOf = (
  rows: VbucketRows,
  documents: MemoryDocuments,
  flusher: Flusher | null,
  { commit, fetch, fetchWait }: Timings,
): EngineActivity => ({
  tombstones: sum(rows.tombstones),
  queued: flusher?.queued ?? 0,
  memoryRefusals: documents.memoryRefusals,
  commit: commit.figures(),
  fetchWait: fetchWait.figures(),
  fetch: fetch.figures(),
});

/** Asked of every bucket for every report: the array's own `reduce` takes five times as long. */
function sum(column: Uint32Array): number {
  let total = 0;
  for (let i = 0; i < column.length; i++) total += column[i] as number;
  return total;
}
