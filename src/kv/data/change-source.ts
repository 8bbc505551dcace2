// What streams need of a bucket: seqnos of each vbucket, its latest changes from memory, older ones in pages.
import type { CutItem } from './cut.ts';
import type { BackfillPage } from './disk-engine.ts';
import type { FailoverEntry } from './documents.ts';
import type { VbucketState } from './vbucket-state.ts';

/** A reader that follows a vbucket's changes. */
export interface Follower {
  /** The reader has read all changes up to this seqno, so they need not be kept for it. */
  readonly position: number;
  /** The reader receives durable writes before they are committed, so that commits change nothing for it. */
  readonly receivesUncommitted?: boolean;
  /** Called when there may be new changes. */
  changed(): void;
}

/** Whether all vbuckets have recorded the system events of a new manifest. Clients see the manifest itself at once. */
export interface EventProgress {
  /** Some vbuckets lack events, which will raise their seqnos. */
  readonly isBehind: boolean;
  /** Calls `callback` once no vbucket lacks events, and at the latest after `limitMs` or when the bucket stops. */
  whenRecordedOrAfter(limitMs: number, callback: () => void): void;
  /**
   * The scope of a collection that the vbucket has according to its history, if that is newer than the manifest of this uid: a copy may get
   * documents of a collection before its node gets the manifest. Else undefined.
   */
  newerScopeOf(vb: number, collection: number, uid: number): number | undefined;
}

export interface ChangeSource {
  readonly events: EventProgress;
  stateOf(vb: number): VbucketState;
  /** As `stateOf`, but `dead` while the vbucket cannot be read. */
  servedState(vb: number): VbucketState;
  highSeqno(vb: number): number;
  /** The seqno before the first unresolved durable write: later changes may still be withdrawn. */
  visibleSeqno(vb: number): number;
  /** Whether a durable write waits until copies have it on disk. */
  awaitsCopiesOnDisk(vb: number): boolean;
  /**
   * The seqno up to which clients may see changes: no unresolved durable write is before it, and every member of the in-sync set has
   * received everything up to it, so that no failover among the members takes any of it back.
   */
  safeSeqno(vb: number): number;
  /** The seqno up to which a backfill can read at present. */
  storedSeqno(vb: number): number;
  purgeSeqno(vb: number): number;
  failoverLog(vb: number): readonly FailoverEntry[];
  /** From now on the bucket keeps the vbucket's changes for the follower and notifies it of them. */
  follow(vb: number, follower: Follower): void;
  unfollow(vb: number, follower: Follower): void;
  /** Whether memory still has all changes after `afterSeqno`. */
  hasRecent(vb: number, afterSeqno: number): boolean;
  /** The last safe seqno up to which everything after `afterSeqno` is in memory and not replaced by a later write. */
  recentEnd(vb: number, afterSeqno: number): number;
  /**
   * The changes that memory has now after `afterSeqno`, with those that copies have not received: the page may be sent once its end is safe.
   * Null when the next one is on disk only, or replaced by a durable write that is not resolved.
   */
  recentPage(vb: number, afterSeqno: number, targetBytes: number): BackfillPage | null;
  /**
   * Fills `item` with the next change after `afterSeqno` and up to `endSeqno` that was not replaced. Returns its seqno; 0: there is no
   * such change; -1: its value is on disk only.
   */
  readNext(vb: number, afterSeqno: number, endSeqno: number, item: CutItem): number;
  /** As `readNext`, for copies: with durable writes that are not committed. */
  readNextForCopy(vb: number, afterSeqno: number, endSeqno: number, item: CutItem): number;
  /** As `backfill`, for copies: with durable writes that are not committed. */
  backfillForCopy(vb: number, afterSeqno: number): Promise<BackfillPage>;
  /** Reads older changes; see DiskEngine. */
  backfill(vb: number, afterSeqno: number, targetBytes?: number): Promise<BackfillPage>;
  /**
   * As `backfill`, for a reader that began at seqno 0 and needs documents only: deletions and system events from before its first page
   * may be left out, so that documents in memory need not be read from disk. `listedSeqno`: the field of this name in the reader's
   * previous page (see `BackfillPage`); undefined for its first page.
   */
  documents(
    vb: number,
    afterSeqno: number,
    listedSeqno: number | undefined,
    targetBytes?: number,
  ): Promise<BackfillPage>;
}
