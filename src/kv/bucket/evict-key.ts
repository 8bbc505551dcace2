// Evicts one document at an administrator's request, for tests of how it is loaded again.
import { Status } from '#wire/status.ts';
import { Bit } from '../memory/layout.ts';
import type { Residency } from '../vbucket/residency.ts';
import { emptyPlace, type Vbuckets } from '../vbucket/vbuckets.ts';

/** Returns keyExists when the document cannot be evicted now: it is not on disk yet, locked, or has a pending write. */
export function evictKey(vbuckets: Vbuckets, residency: Residency, vb: number, key: Buffer): Status {
  const { items } = vbuckets;
  const address = vbuckets.look(emptyPlace(), vb, vbuckets.hash(key, 0, key.length), key, 0, key.length);
  if (address === 0) return Status.keyNotFound;
  if (!residency.isEvictable(address)) return Status.keyExists;
  const leavesWhole = residency.policy === 'fullEviction' && (items.state(address) & Bit.casUnstored) === 0;
  if (leavesWhole) residency.dropItem(address);
  else if ((items.state(address) & Bit.valueAway) === 0) residency.dropValue(address);
  return Status.success;
}
