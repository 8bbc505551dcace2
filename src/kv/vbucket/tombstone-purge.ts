// Lets memory forget the tombstones of a vbucket that compaction has dropped from its file.
import type { PurgedVbucket } from '../disk/engine.ts';
import { Bit, Word } from '../memory/layout.ts';
import type { Items } from './items.ts';
import { isInFlight } from './preconditions.ts';
import type { Vbuckets } from './vbuckets.ts';

/** A key that was written anew since has another seqno, or waits to be written, and stays. */
export function purgeTombstones(vbuckets: Vbuckets, purged: PurgedVbucket, beforeSeconds: number): void {
  const { index, place, rows } = vbuckets;
  const { vb } = purged;
  const keep = (rows.tombstones[vb] as number) - purged.tombstones;
  rows.purgeSeqno[vb] = Math.max(rows.purgeSeqno[vb] as number, purged.purgeSeqno);
  let left = 0;
  for (let slot = 0; slot < index.end(vb); ) {
    const address = index.address(vb, slot);
    if (address === 0 || !isPurged(vbuckets.items, address, purged.purgeSeqno, beforeSeconds)) {
      if (address !== 0 && isCounted(vbuckets.items, address)) left++;
      slot += 2;
      continue;
    }
    place.row = vb;
    place.slot = slot;
    place.address = address;
    // Removal shifts a later entry into this slot, so the walk stays.
    vbuckets.forget();
  }
  // Those that memory had let go before are counted all the same; those of dropped collections no longer are.
  rows.tombstones[vb] = Math.max(left, Math.min(rows.tombstones[vb] as number, keep));
}

const isCounted = (items: Items, address: number): boolean =>
  (items.state(address) & (Bit.deleted | Bit.pending)) === Bit.deleted;

function isPurged(items: Items, address: number, upTo: number, before: number): boolean {
  const state = items.state(address);
  if ((state & Bit.deleted) === 0 || (state & Bit.dirty) !== 0 || isInFlight(items, address)) return false;
  return items.seqno(address) <= upTo && items.word(address, Word.expiry) < before;
}

/** The same for a bucket without a disk: every tombstone of an old deletion. */
export function oldTombstones(vbuckets: Vbuckets, vb: number, beforeSeconds: number): PurgedVbucket {
  const { index, items, rows } = vbuckets;
  const found = { vb, upToSeqno: rows.highSeqno[vb] as number, purgeSeqno: 0, tombstones: 0 };
  for (let slot = 0; slot < index.end(vb); slot += 2) {
    const address = index.address(vb, slot);
    if (address === 0 || (items.state(address) & Bit.deleted) === 0) continue;
    if (items.word(address, Word.expiry) >= beforeSeconds) continue;
    found.purgeSeqno = Math.max(found.purgeSeqno, items.seqno(address));
    found.tombstones++;
  }
  return found;
}
