// Finds the version of a durable write that is not committed, for the pages with which the feed of a copy begins. `VersionSearch` does so for
// the changes after them.
import { Bit, Word } from '../memory/layout.ts';
import type { Vbuckets } from './vbuckets.ts';

/** The address of the pending version with this seqno beside a committed one; 0 where there is none. */
export function pendingOf({ index, items }: Vbuckets, vb: number, hash: number, seqno: number): number {
  let found = 0;
  index.locateWhere(vb, hash, (address) => {
    if ((items.state(address) & Bit.hasPending) === 0) return false;
    const pending = items.word(address, Word.lockOrPending);
    if (items.seqno(pending) === seqno) found = pending;
    return found !== 0;
  });
  return found;
}
