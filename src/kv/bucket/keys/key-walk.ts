// Walks through the keys of a vbucket over several turns. Entries of the index move when others are removed, but the home of each, the
// slot where the search for it begins, stays while its table does. So each slice takes the entries of some homes: a key that is there
// all the time is met, whatever happens in between.
import type { KeyIndex } from '../../memory/key-index.ts';

type WalkedIndex = Pick<KeyIndex, 'moveOn' | 'end' | 'address' | 'hash'>;

export class KeyWalk {
  private readonly index: WalkedIndex;
  private readonly row: number;
  private readonly visit: (address: number, hash: number) => void;
  private home = 0;
  /** Length of the table that is walked through; when it grows, the walk begins again, and meets keys twice. */
  private end = -1;

  constructor(index: WalkedIndex, row: number, visit: (address: number, hash: number) => void) {
    this.index = index;
    this.row = row;
    this.visit = visit;
  }

  /** Goes on by that many homes; true when all are done. */
  slice(homes: number): boolean {
    const { index, row } = this;
    for (let left = homes; index.moveOn(row); left--) if (left === 0) return false;
    const end = index.end(row);
    if (end !== this.end) this.home = 0;
    this.end = end;
    const from = this.home;
    const to = Math.min(from + 2 * homes, end);
    this.home = to;
    this.take(from, to);
    return to === end;
  }

  /** Entries follow their home without a gap, if need be from the first slot on. */
  private take(from: number, to: number): void {
    const { end, index, row, visit } = this;
    for (let at = from; at < from + end; at += 2) {
      const slot = at % end;
      const address = index.address(row, slot);
      if (address === 0) {
        if (at >= to) return;
        continue;
      }
      const hash = index.hash(row, slot);
      const home = (hash << 1) & (end - 2);
      if (home >= from && home < to) visit(address, hash);
    }
  }
}
