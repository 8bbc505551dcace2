// The CAS of each lock that clients hold. It is kept beside the item, whose own CAS conflict resolution, streams and the disk go by: a lock
// changes nothing in the document. An item without a lock has nothing here.
import type { Now } from './now.ts';

/** Limit of locks at one time in a bucket. */
export const locksMax = 100_000;

/** With all places taken, locks that have ended are looked for this often. */
const pruneEveryMs = 1000;

interface ItemLock {
  readonly casHi: number;
  readonly casLo: number;
  /** In lock ticks. */
  readonly end: number;
}

export class ItemLocks {
  /** By vbucket and seqno, which only one version has. An item without `Bit.locked` may have left one here. */
  private readonly locks = new Map<string, ItemLock>();
  private prunedAtMs = -Infinity;

  get size(): number {
    return this.locks.size;
  }

  /** False when too many locks are held. */
  add(vb: number, seqno: number, lock: ItemLock, now: Now): boolean {
    const name = nameOf(vb, seqno);
    if (this.locks.size >= locksMax && !this.locks.has(name) && !this.prune(now)) return false;
    this.locks.set(name, lock);
    return true;
  }

  isCas(vb: number, seqno: number, casHi: number, casLo: number): boolean {
    const lock = this.locks.get(nameOf(vb, seqno));
    return lock !== undefined && lock.casHi === casHi && lock.casLo === casLo;
  }

  remove(vb: number, seqno: number): void {
    this.locks.delete(nameOf(vb, seqno));
  }

  /** Removes the locks that have ended; false when none has, or it was tried a moment ago. */
  private prune(now: Now): boolean {
    if (now.monotonicMs - this.prunedAtMs < pruneEveryMs) return false;
    this.prunedAtMs = now.monotonicMs;
    for (const [name, { end }] of this.locks) if (!now.isBefore(end)) this.locks.delete(name);
    return this.locks.size < locksMax;
  }
}

const nameOf = (vb: number, seqno: number): string => `${vb}/${seqno}`;
