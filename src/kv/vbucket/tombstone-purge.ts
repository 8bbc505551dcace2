// Removes from memory the tombstones that compaction has dropped from a vbucket's file.
import type { PurgedVbucket } from '../data/disk-engine.ts';
import { isEventKey } from '../data/system-events.ts';
import { type KeyIndex, slotWords } from '../memory/key-index.ts';
import { Bit, Word } from '../memory/layout.ts';
import { emptyPosition } from './item-position.ts';
import type { Items } from './items.ts';
import { isInFlight } from './preconditions.ts';
import type { Vbuckets } from './vbuckets.ts';

/** Keeps items that were written again since the compaction: they have another seqno, or are dirty. */
export function purgeTombstones(vbuckets: Vbuckets, purged: PurgedVbucket, beforeSeconds: number): void {
  const { columns } = vbuckets;
  const { vb } = purged;
  const keep = (columns.tombstones[vb] as number) - purged.tombstones;
  columns.purgeSeqno[vb] = Math.max(columns.purgeSeqno[vb] as number, purged.purgeSeqno);
  const left = discardPurged(vbuckets, purged, beforeSeconds);
  // Tombstones already evicted are counted too; those of dropped collections are not.
  columns.tombstones[vb] = Math.max(left, Math.min(columns.tombstones[vb] as number, keep));
}

/** Returns how many tombstones stay in memory. */
function discardPurged(vbuckets: Vbuckets, { vb, purgeSeqno }: PurgedVbucket, beforeSeconds: number): number {
  const { index, items } = vbuckets;
  const position = emptyPosition();
  const mask = rehashedEnd(index, vb) - slotWords;
  const empty = emptySlot(index, vb);
  let left = 0;
  // Starts after an empty slot and ends at it: a removal shifts later entries back, but none over an empty slot, so that
  // each is visited once.
  for (let slot = (empty + slotWords) & mask; slot !== empty; ) {
    const address = index.address(vb, slot);
    if (address === 0 || !isPurged(items, address, purgeSeqno, beforeSeconds)) {
      if (address !== 0 && isCounted(items, address)) left++;
      slot = (slot + slotWords) & mask;
      continue;
    }
    position.vb = vb;
    position.slot = slot;
    position.address = address;
    // Another entry may move to this slot, so the walk does not advance.
    vbuckets.discard(position);
  }
  return left;
}

/** End of the vbucket's table after any rehash is completed: a walk over two tables would miss entries that move between them. */
function rehashedEnd(index: KeyIndex, vb: number): number {
  while (index.continueRehash(vb));
  return index.end(vb);
}

function emptySlot(index: KeyIndex, vb: number): number {
  let slot = 0;
  while (index.address(vb, slot) !== 0) slot += slotWords;
  return slot;
}

const isCounted = (items: Items, address: number): boolean =>
  (items.state(address) & (Bit.deleted | Bit.pending)) === Bit.deleted &&
  !isEventKey(items.page(address), items.keyStart(address));

function isPurged(items: Items, address: number, upTo: number, before: number): boolean {
  const state = items.state(address);
  if ((state & Bit.deleted) === 0 || (state & Bit.dirty) !== 0 || isInFlight(items, address)) return false;
  return items.seqno(address) <= upTo && items.word(address, Word.expiry) < before;
}

/** Returns what to purge in a bucket without a disk. What stays does not raise the purge seqno: streams from before it begin anew. */
export function oldTombstones(vbuckets: Vbuckets, vb: number, beforeSeconds: number): PurgedVbucket {
  const { index, items, columns } = vbuckets;
  const found = { vb, upToSeqno: columns.highSeqno[vb] as number, purgeSeqno: 0, tombstones: 0 };
  for (let slot = 0, end = rehashedEnd(index, vb); slot < end; slot += slotWords) {
    const address = index.address(vb, slot);
    if (address === 0 || !isPurged(items, address, found.upToSeqno, beforeSeconds)) continue;
    found.purgeSeqno = Math.max(found.purgeSeqno, items.seqno(address));
    if (isCounted(items, address)) found.tombstones++;
  }
  return found;
}
