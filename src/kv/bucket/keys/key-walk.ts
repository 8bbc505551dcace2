// Walks through the keys of a vbucket over several turns. Entries of the index move when others are removed, but the home of each, the
// slot where the search for it begins, stays the same until the table grows. So each slice visits the entries of some homes, and a key
// that is in the index during the whole walk is visited, whatever changes in between.
import { type KeyIndex, slotWords } from '../../memory/key-index.ts';

type WalkedIndex = Pick<KeyIndex, 'continueRehash' | 'end' | 'address' | 'hash'>;

export class KeyWalk {
  private readonly index: WalkedIndex;
  private readonly vb: number;
  private readonly visit: (address: number, hash: number) => void;
  private home = 0;
  /**
   * Length of the table that is walked through, in 32-bit words: a slot has two. When the table grows, the walk begins again, and visits keys
   * twice.
   */
  private end = -1;

  constructor(index: WalkedIndex, vb: number, visit: (address: number, hash: number) => void) {
    this.index = index;
    this.vb = vb;
    this.visit = visit;
  }

  /** Advances by this many homes; true when all are done. */
  slice(homes: number): boolean {
    const { index, vb } = this;
    for (let left = homes; index.continueRehash(vb); left--) if (left === 0) return false;
    const end = index.end(vb);
    if (end !== this.end) this.home = 0;
    this.end = end;
    const from = this.home;
    const to = Math.min(from + slotWords * homes, end);
    this.home = to;
    this.visitHomes(from, to);
    return to === end;
  }

  /** Entries follow their home without a gap; after the last slot they continue at the first. */
  private visitHomes(from: number, to: number): void {
    const { end, index, vb, visit } = this;
    for (let at = from; at < from + end; at += slotWords) {
      const slot = at % end;
      const address = index.address(vb, slot);
      if (address === 0) {
        if (at >= to) return;
        continue;
      }
      const hash = index.hash(vb, slot);
      const home = (hash << 1) & (end - 2);
      if (home >= from && home < to) visit(address, hash);
    }
  }
}
