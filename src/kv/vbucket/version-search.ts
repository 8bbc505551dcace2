// Finds the version of a key that has a given seqno: the committed version, or that of a pending durable write, since copies receive a pending
// write as a plain change. One object serves all searches: a closure for each change that is sent to a copy would cost time.
import { Bit, Word } from '../memory/layout.ts';
import type { Vbuckets } from './vbuckets.ts';

export class VersionSearch {
  private readonly vbuckets: Vbuckets;
  private seqno = 0;
  private found = 0;

  constructor(vbuckets: Vbuckets) {
    this.vbuckets = vbuckets;
  }

  /** Returns the address of the version; 0 where there is none. */
  find(vb: number, hash: number, seqno: number): number {
    this.seqno = seqno;
    this.found = 0;
    this.vbuckets.index.locateWhere(vb, hash, this.matches);
    return this.found;
  }

  private readonly matches = (address: number): boolean => {
    const { items } = this.vbuckets;
    if (items.seqno(address) === this.seqno) this.found = address;
    else if ((items.state(address) & Bit.hasPending) !== 0) {
      const pending = items.word(address, Word.lockOrPending);
      if (items.seqno(pending) === this.seqno) this.found = pending;
    }
    return this.found !== 0;
  };
}
