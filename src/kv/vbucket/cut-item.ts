// Conversion of an item in memory to the form that cuts and streams carry.
import { CutBits, type CutItem } from '../data/cut.ts';
import { Bit, Word } from '../memory/layout.ts';
import type { Items } from './items.ts';

/** Does not copy key and value: `item` refers to their ranges of the page. */
export function fillCutItem(items: Items, address: number, item: CutItem): void {
  const state = items.state(address);
  item.buffer = items.page(address);
  item.keyStart = items.keyStart(address);
  item.keyEnd = item.valueStart = items.valueStart(address);
  item.valueEnd = items.valueEnd(address);
  item.seqno = items.seqno(address);
  item.casHi = items.word(address, Word.casHi);
  item.casLo = items.word(address, Word.casLo);
  item.rev = items.rev(address);
  item.flags = items.word(address, Word.flags);
  item.expiry = items.word(address, Word.expiry);
  item.datatype = items.datatype(address);
  item.bits =
    ((state & Bit.deleted) !== 0 ? CutBits.deleted : 0) | ((state & Bit.expired) !== 0 ? CutBits.expired : 0);
}
