// The dirty items of a vbucket, which no cut holds yet: a list through their headers, in the order of their seqnos.
import { Bit, Word } from '../memory/layout.ts';
import type { VbucketColumns } from './columns.ts';
import type { Items } from './items.ts';

/** Appends an item that has just got the highest seqno. */
export function appendDirty(columns: VbucketColumns, items: Items, vb: number, address: number): void {
  const tail = columns.dirtyTail[vb] as number;
  items.setWord(address, Word.next, 0);
  items.setWord(address, Word.previous, tail);
  items.setBits(address, Bit.dirty);
  if (tail === 0) columns.dirtyHead[vb] = address;
  else items.setWord(tail, Word.next, address);
  columns.dirtyTail[vb] = address;
  (columns.dirtyCount[vb] as number) += 1;
  (columns.dirtyBytes[vb] as number) += items.bytes(address);
}

/** Removes an item from anywhere in the list. */
export function unlinkDirty(columns: VbucketColumns, items: Items, vb: number, address: number): void {
  const next = items.word(address, Word.next);
  const previous = items.word(address, Word.previous);
  if (previous === 0) columns.dirtyHead[vb] = next;
  else items.setWord(previous, Word.next, next);
  if (next === 0) columns.dirtyTail[vb] = previous;
  else items.setWord(next, Word.previous, previous);
  items.clearBits(address, Bit.dirty);
  (columns.dirtyCount[vb] as number) -= 1;
  (columns.dirtyBytes[vb] as number) -= items.bytes(address);
}

/** Removes a version that a newer one (with `seqno`) replaces, and records that no cut may end between the two. */
export function supersedeDirty(
  columns: VbucketColumns,
  items: Items,
  vb: number,
  old: number,
  seqno: number,
): void {
  if ((items.state(old) & Bit.dirty) === 0) return;
  const floor = columns.dedupeFloor[vb] as number;
  const oldSeqno = items.seqno(old);
  if (floor === 0 || oldSeqno < floor) columns.dedupeFloor[vb] = oldSeqno;
  columns.dedupeCeiling[vb] = seqno;
  unlinkDirty(columns, items, vb, old);
}
