// Stores in memory the documents that were read from disk for clients, if there is room and no newer version can exist.
import type { CutItem } from '../../data/cut.ts';
import { emptyPosition } from '../../vbucket/item-position.ts';
import type { LiveCollections } from '../../vbucket/live-collections.ts';
import type { Residency } from '../../vbucket/residency.ts';
import { makesSeqnos } from '../../vbucket/serving.ts';
import type { Vbuckets } from '../../vbucket/vbuckets.ts';
import type { MemoryKeeper } from '../quota/memory-keeper.ts';
import type { FetchRequest } from './background-fetches.ts';

export interface FetchIntakeOptions {
  vbuckets: Vbuckets;
  collections: LiveCollections;
  residency: Residency;
  keeper: MemoryKeeper;
}

/**
 * Returns false when there is no room. Two kinds of items are not stored: an item whose collection was dropped during the read, where the sweep of this
 * node removes it from disk; and an item that was evicted while only its value was read, since a newer version may have been evicted too.
 */
export function storeFetched(
  options: FetchIntakeOptions,
  { vb, seqno }: FetchRequest,
  item: CutItem,
): boolean {
  const { collections, keeper, residency, vbuckets } = options;
  const { buffer, keyStart, keyEnd } = item;
  const hash = vbuckets.hash(buffer, keyStart, keyEnd);
  // Before the look-up, since it may evict a newer version of this item.
  keeper.makeRoom();
  keeper.relievePressure();
  const isAbsent = vbuckets.locate(emptyPosition(), vb, hash, buffer, keyStart, keyEnd) === 0;
  if (isAbsent && seqno !== 0) return true;
  const isSwept = makesSeqnos(vbuckets.columns, vb) && collections.isGone(buffer, keyStart, vb);
  if (isAbsent && isSwept) {
    residency.noteAbsent(vb, buffer.subarray(keyStart, keyEnd));
    return true;
  }
  return keeper.admitsValues && residency.restore(vb, item);
}
