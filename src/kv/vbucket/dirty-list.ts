// The dirty items of a vbucket, which no cut holds yet: a list through their headers, in the order of their seqnos.
import { Bit, Word } from '../memory/layout.ts';
import type { Items } from './items.ts';
import type { VbucketRows } from './rows.ts';

/** Appends an item that has just got the highest seqno. */
export function appendDirty(rows: VbucketRows, items: Items, row: number, address: number): void {
  const tail = rows.dirtyTail[row] as number;
  items.setWord(address, Word.next, 0);
  items.setWord(address, Word.previous, tail);
  items.setBits(address, Bit.dirty);
  if (tail === 0) rows.dirtyHead[row] = address;
  else items.setWord(tail, Word.next, address);
  rows.dirtyTail[row] = address;
  (rows.dirtyCount[row] as number) += 1;
  (rows.dirtyBytes[row] as number) += items.bytes(address);
}

/** Removes an item from anywhere in the list. */
export function unlinkDirty(rows: VbucketRows, items: Items, row: number, address: number): void {
  const next = items.word(address, Word.next);
  const previous = items.word(address, Word.previous);
  if (previous === 0) rows.dirtyHead[row] = next;
  else items.setWord(previous, Word.next, next);
  if (next === 0) rows.dirtyTail[row] = previous;
  else items.setWord(next, Word.previous, previous);
  items.clearBits(address, Bit.dirty);
  (rows.dirtyCount[row] as number) -= 1;
  (rows.dirtyBytes[row] as number) -= items.bytes(address);
}

/** Removes a version that a newer one (with `seqno`) replaces, and records that no cut may end between the two. */
export function supersedeDirty(
  rows: VbucketRows,
  items: Items,
  row: number,
  old: number,
  seqno: number,
): void {
  if ((items.state(old) & Bit.dirty) === 0) return;
  const floor = rows.dedupeFloor[row] as number;
  const oldSeqno = items.seqno(old);
  if (floor === 0 || oldSeqno < floor) rows.dedupeFloor[row] = oldSeqno;
  rows.dedupeCeiling[row] = seqno;
  unlinkDirty(rows, items, row, old);
}
