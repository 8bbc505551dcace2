// What a bucket's engine counts.
import type { EngineActivity, MemoryFigures } from '../activity.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import { headerBytes } from '../memory/layout.ts';
import type { LiveCollections } from '../vbucket/live-collections.ts';
import type { VbucketRows } from '../vbucket/rows.ts';
import type { Vbuckets } from '../vbucket/vbuckets.ts';
import type { Timings } from './timings.ts';

export interface BucketStats {
  /** In active vbuckets. */
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

/** Before all keys are loaded, the files' own count is the lower limit. */
export function countsOf(
  rows: VbucketRows,
  collections: LiveCollections,
  expectedItems: number,
): Pick<BucketStats, 'items' | 'tombstones' | 'dirtyItems' | 'collectionItems'> {
  const counts = [...collections.itemCounts()].map(([id, count]) => [id.toString(16), count] as const);
  return {
    items: Math.max(sumOfActive(rows, rows.items), expectedItems),
    tombstones: sum(rows.tombstones),
    dirtyItems: sum(rows.dirtyCount),
    collectionItems: Object.fromEntries(counts),
  };
}

export interface Counted {
  queued: number;
  memoryRefusals: number;
  failedCommits: number;
  compression: EngineActivity['compression'];
  memUsed: number;
}

export const activityOf = (
  vbuckets: Pick<Vbuckets, 'rows' | 'heap' | 'index'>,
  { memUsed, ...counted }: Counted,
  { commit, fetch, fetchWait }: Timings,
): EngineActivity => ({
  ...counted,
  tombstones: sum(vbuckets.rows.tombstones),
  dirtyBytes: sum(vbuckets.rows.dirtyBytes),
  memory: memoryOf(vbuckets, memUsed),
  commit: commit.figures(),
  fetchWait: fetchWait.figures(),
  fetch: fetch.figures(),
});

function memoryOf(
  { rows, heap, index }: Pick<Vbuckets, 'rows' | 'heap' | 'index'>,
  used: number,
): MemoryFigures {
  const resident = sum(rows.items) + sum(rows.tombstones) - sum(rows.itemsAway);
  return {
    items: heap.usedBytes,
    meta: Math.max(resident, 0) * headerBytes + index.bytes,
    overhead: Math.max(used - heap.usedBytes, 0),
  };
}

function sumOfActive({ state }: VbucketRows, column: Uint32Array): number {
  let total = 0;
  for (let i = 0; i < column.length; i++) if (state[i] === VbucketState.active) total += column[i] as number;
  return total;
}

/** Called for every bucket at every report: the array's own `reduce` takes five times as long. */
function sum(column: Uint32Array | Float64Array): number {
  let total = 0;
  for (let i = 0; i < column.length; i++) total += column[i] as number;
  return total;
}
