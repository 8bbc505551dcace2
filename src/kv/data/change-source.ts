// What streams ask of a bucket: how far each vbucket is, its latest changes from memory, older ones by the page.
import type { CutItem } from './cut.ts';
import type { BackfillPage } from './disk-engine.ts';
import type { FailoverEntry } from './documents.ts';

/** Somebody who wants to know of a vbucket's changes. */
export interface Follower {
  /** What was given out up to here need not be kept. */
  readonly position: number;
  /** There may be something new. */
  changed(): void;
}

export interface ChangeSource {
  isActive(vb: number): boolean;
  highSeqno(vb: number): number;
  /** Below the first durable write that is not settled: what comes after may still be taken back. */
  visibleSeqno(vb: number): number;
  /** What a backfill can reach at present. */
  storedSeqno(vb: number): number;
  purgeSeqno(vb: number): number;
  failoverLog(vb: number): readonly FailoverEntry[];
  /** From now on the vbucket's changes are remembered and told. */
  follow(vb: number, follower: Follower): void;
  unfollow(vb: number, follower: Follower): void;
  /** Whether memory still knows of all changes after `afterSeqno`. */
  remembers(vb: number, afterSeqno: number): boolean;
  /** The last seqno up to which everything after `afterSeqno` is in memory, settled and not replaced by an open write. */
  wholeEnd(vb: number, afterSeqno: number): number;
  /**
   * Fills `item` with the next change after `afterSeqno` and up to `endSeqno` that was not replaced; answers its
   * seqno, 0 when there is none, -1 when its value is on disk only.
   */
  next(vb: number, afterSeqno: number, endSeqno: number, item: CutItem): number;
  /** Older changes: see DiskEngine. */
  backfill(vb: number, afterSeqno: number): Promise<BackfillPage>;
}
