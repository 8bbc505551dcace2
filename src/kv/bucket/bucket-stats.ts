// Statistics of a bucket's engine, added up over its vbuckets.
import type { EngineActivity, MemoryFigures } from '../activity.ts';
import type { CountedState, VbucketCounts } from '../admin.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import { headerBytes } from '../memory/layout.ts';
import type { VbucketColumns } from '../vbucket/columns.ts';
import type { LiveCollections } from '../vbucket/live-collections.ts';
import type { Vbuckets } from '../vbucket/vbuckets.ts';
import type { BucketParts } from './bucket-parts.ts';

export interface BucketStats {
  /** Documents in active vbuckets. */
  items: number;
  tombstones: number;
  memUsed: number;
  dirtyItems: number;
  /** Documents whose value is on disk only. */
  nonResident: number;
  /** Documents read from disk since start, as `evictions` and `expired` count since start. */
  diskFetches: number;
  evictions: number;
  expired: number;
  vbuckets: Record<CountedState, VbucketCounts>;
  /** Live items of active vbuckets by collection id in lower-case hex. */
  collectionItems: Record<string, number>;
}

/** `expectedItems` is the files' own count of documents in active vbuckets: the lower limit of `items` before all keys are loaded. */
export function countsOf(
  columns: VbucketColumns,
  collections: LiveCollections,
  expectedItems: number,
): Pick<BucketStats, 'items' | 'tombstones' | 'dirtyItems' | 'vbuckets' | 'collectionItems'> {
  const vbuckets = {
    active: countsIn(columns, VbucketState.active),
    replica: countsIn(columns, VbucketState.replica),
    pending: countsIn(columns, VbucketState.pending),
  };
  const hasCopies = vbuckets.replica.vbuckets + vbuckets.pending.vbuckets > 0;
  const inCollections = hasCopies
    ? collections.itemCountsOf((vb) => columns.state[vb] === VbucketState.active)
    : collections.itemCounts();
  const counts = [...inCollections].map(([id, count]) => [id.toString(16), count] as const);
  return {
    vbuckets,
    items: Math.max(vbuckets.active.items, expectedItems),
    tombstones: sum(columns.tombstones),
    dirtyItems: sum(columns.dirtyCount),
    collectionItems: Object.fromEntries(counts),
  };
}

export function activityOf(parts: BucketParts, failedCommits: number): EngineActivity {
  const { background, documents, drift, flusher, timings, vbuckets } = parts;
  const { visited, compressed } = background.compressor;
  return {
    queued: flusher?.queuedTotal ?? 0,
    memoryRefusals: documents.memoryRefusals,
    failedCommits,
    drift: { active: drift.active.figures(), replica: drift.replica.figures() },
    compression: { visited, compressed },
    tombstones: sum(vbuckets.columns.tombstones),
    dirtyBytes: sum(vbuckets.columns.dirtyBytes),
    memory: memoryOf(vbuckets, documents.memUsed),
    commit: timings.commit.figures(),
    fetchWait: timings.fetchWait.figures(),
    fetch: timings.fetch.figures(),
  };
}

function memoryOf(
  { columns, heap, index }: Pick<Vbuckets, 'columns' | 'heap' | 'index'>,
  used: number,
): MemoryFigures {
  const resident = sum(columns.items) + sum(columns.tombstones) - sum(columns.nonResidentItems);
  return {
    items: heap.usedBytes,
    meta: Math.max(resident, 0) * headerBytes + index.bytes,
    overhead: Math.max(used - heap.usedBytes, 0),
  };
}

function countsIn({ items, state }: VbucketColumns, counted: VbucketState): VbucketCounts {
  const counts = { vbuckets: 0, items: 0 };
  for (let vb = 0; vb < state.length; vb++) {
    if (state[vb] !== counted) continue;
    counts.vbuckets++;
    counts.items += items[vb] as number;
  }
  return counts;
}

/** Called for every bucket at every report: the array's own `reduce` takes five times as long. */
function sum(column: Uint32Array | Float64Array): number {
  let total = 0;
  for (let i = 0; i < column.length; i++) total += column[i] as number;
  return total;
}
