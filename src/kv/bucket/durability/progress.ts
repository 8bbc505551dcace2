// The progress of each vbucket of a bucket: its highest seqno, the seqno that every member of its in-sync set has received (committed),
// and the persisted one. The flusher and the copies report here; waiting calls, durable writes and streams read it or follow it.
import type { Clock, Timer } from '#ports/clock.ts';
import { DurabilityLevel } from '../../data/documents.ts';
import type { VbucketColumns } from '../../vbucket/columns.ts';
import { type SyncSet, SyncSets } from './sync-sets.ts';

export const persistenceWaitsMax = 65_536;
/** Interval of the checks of deadlines. */
const checkEveryMs = 50;
/** As published: with three copies durable writes are impossible. */
const majorityMax = 2;

/** Called when everything of a vbucket up to `seqno` is persisted. */
export interface PersistenceFollower {
  persisted(vb: number, seqno: number): void;
}

/** Called when durable writes of a vbucket may have reached their levels, because its copies have more or its members changed. */
export interface CommitFollower {
  committed(vb: number): void;
}

interface Wait {
  seqno: number;
  deadlineMs: number;
  done: (persisted: boolean) => void;
}

export class VbucketProgress {
  private readonly columns: VbucketColumns;
  private readonly clock: Clock;
  private readonly rules: { readonly replicaNumber: number };
  private readonly isOnDisk: boolean;
  private readonly sets: SyncSets;
  private commitFollowers: readonly CommitFollower[] = [];
  private followers: readonly PersistenceFollower[] = [];
  private readonly waits = new Map<number, Wait[]>();
  private count = 0;
  private timer: Timer | null = null;

  constructor(
    columns: VbucketColumns,
    clock: Clock,
    rules: { readonly replicaNumber: number },
    isOnDisk: boolean,
  ) {
    this.columns = columns;
    this.clock = clock;
    this.rules = rules;
    this.isOnDisk = isOnDisk;
    this.sets = new SyncSets(columns);
  }

  /** Sets the parts of the bucket to notify, in this order. Waiting calls are answered after them. */
  notify(...followers: readonly PersistenceFollower[]): void {
    this.followers = followers;
  }

  /** Sets the parts of the bucket to notify of changes of the committed seqno. */
  notifyCommitted(...followers: readonly CommitFollower[]): void {
    this.commitFollowers = followers;
  }

  /** Calls back after each commit of the vbucket's file, until the returned function is called. */
  notifyPersisted(persisted: (vb: number) => void): () => void {
    const added = { persisted };
    this.followers = [...this.followers, added];
    return () => {
      this.followers = this.followers.filter((follower) => follower !== added);
    };
  }

  /** What this node has on its disk. */
  persistedSeqno(vb: number): number {
    return this.columns.persistedSeqno[vb] ?? 0;
  }

  /** As `Documents.safePersistedSeqno`. */
  safePersistedSeqno(vb: number): number {
    return this.sets.isUnwritten(vb) ? 0 : this.persistedSeqno(vb);
  }

  /** Every member of the in-sync set has received everything up to here. */
  committedSeqno(vb: number): number {
    return this.sets.committedSeqno(vb);
  }

  /** What a copy has received, member or not; 0 before it reported. */
  receivedSeqno(vb: number, node: string): number {
    return this.sets.received(vb, node);
  }

  /** What a copy has on its disk, member or not; 0 before it reported. */
  copyPersistedSeqno(vb: number, node: string): number {
    return this.sets.persisted(vb, node);
  }

  /** Whether a write of this level has to wait before it is committed: `majority` is met at once where the set has no other member. */
  mustWait(vb: number, level: DurabilityLevel): boolean {
    if (level === DurabilityLevel.none) return false;
    return level !== DurabilityLevel.majority || this.sets.hasOthers(vb);
  }

  /** Whether the in-sync set has other members for certain, and all of them have received what there is up to `seqno`. */
  isReceivedByOthers(vb: number, seqno: number): boolean {
    return this.sets.size(vb) > 1 && this.sets.committedSeqno(vb) >= seqno;
  }

  /** How many members the in-sync set needs for durable writes: more than half of the active and the configured copies. */
  get majority(): number {
    return Math.floor((this.rules.replicaNumber + 1) / 2) + 1;
  }

  /** Whether the in-sync set has enough members for a durable write. Never where the majority would be more than two. */
  hasMajority(vb: number): boolean {
    const { majority } = this;
    return majority <= majorityMax && this.sets.size(vb) >= majority;
  }

  /** Whether everything up to `seqno` has this level. */
  reaches(vb: number, seqno: number, level: DurabilityLevel): boolean {
    const { sets } = this;
    if (sets.isBelow(vb, this.majority) || (sets.hasOthers(vb) && seqno > sets.committedSeqno(vb)))
      return false;
    if (level === DurabilityLevel.majority) return true;
    const isOnlyActive = level === DurabilityLevel.majorityAndPersistActive;
    return sets.isPersistedBy(vb, seqno, isOnlyActive ? 1 : this.majority);
  }

  /** Whether no durable write of the vbucket can be acknowledged before a rebalance: too few nodes have copies. */
  lacksCopies(vb: number): boolean {
    return this.sets.staysBelow(vb, this.majority);
  }

  /**
   * Whether a durable write may become visible although it cannot be acknowledged: the set has no majority, and each member has the write, this
   * node also on disk. Nothing that was visible is lost then, unless a disk is.
   */
  isSafeBelowMajority(vb: number, seqno: number): boolean {
    const { sets } = this;
    if (!sets.isCertainlyBelow(vb, this.majority)) return false;
    return seqno <= sets.committedSeqno(vb) && (!this.isOnDisk || seqno <= this.persistedSeqno(vb));
  }

  /** Sets the in-sync set of a vbucket that is active here; null: this node alone. */
  setMembers(vb: number, set: SyncSet | null): void {
    this.sets.set(vb, set);
    this.reportCommitted(vb);
    this.releasePersisted(vb);
  }

  /** As `setMembers`, for a vbucket that becomes active here: nothing is committed until its members report. */
  beginMembers(vb: number, set: SyncSet | null): void {
    this.sets.begin(vb, set);
    this.reportCommitted(vb);
  }

  /** A copy reports its received and its persisted seqno. */
  copied(vb: number, node: string, received: number, persisted: number): void {
    if (this.sets.report(vb, node, received, persisted)) this.reportCommitted(vb);
  }

  /** Discards what the node has reported so far. */
  discardCopy(vb: number, node: string): void {
    this.sets.discard(vb, node);
  }

  /** Discards what these copies have reported of all vbuckets, except of members of in-sync sets. */
  discardCopies(isDiscarded: (node: string) => boolean): void {
    this.sets.discardAll(isDiscarded);
  }

  /** Calls back once `seqno` is persisted, or with false after `timeoutMs`, or when too many calls wait. */
  wait(vb: number, seqno: number, timeoutMs: number, done: (persisted: boolean) => void): void {
    if (this.count >= persistenceWaitsMax) {
      done(false);
      return;
    }
    const wait = { seqno, deadlineMs: this.clock.monotonicMs() + timeoutMs, done };
    const waits = this.waits.get(vb);
    if (waits) waits.push(wait);
    else this.waits.set(vb, [wait]);
    this.count++;
    this.timer ??= this.clock.after(checkEveryMs, () => this.checkDeadlines());
  }

  /** Called by the flusher after a commit. */
  advance(vb: number, seqno: number): void {
    this.columns.persistedSeqno[vb] = seqno;
    for (const follower of this.followers) follower.persisted(vb, seqno);
    this.releasePersisted(vb);
  }

  /** Answers all waiting calls with false, since the disk failed or the bucket stops. */
  failWaits(): void {
    this.timer?.cancel();
    this.timer = null;
    for (const vb of [...this.waits.keys()]) this.failWaitsOf(vb);
  }

  /** As `failWaits`, for one vbucket: another node is its active, whose changes may get the seqnos of those that the calls wait for. */
  failWaitsOf(vb: number): void {
    this.release(vb, false, () => true);
  }

  private reportCommitted(vb: number): void {
    for (const follower of this.commitFollowers) follower.committed(vb);
  }

  private checkDeadlines(): void {
    this.timer = null;
    const now = this.clock.monotonicMs();
    for (const vb of [...this.waits.keys()]) this.release(vb, false, (wait) => wait.deadlineMs <= now);
    if (this.count > 0) this.timer ??= this.clock.after(checkEveryMs, () => this.checkDeadlines());
  }

  private releasePersisted(vb: number): void {
    if (!this.waits.has(vb)) return;
    const seqno = this.safePersistedSeqno(vb);
    this.release(vb, true, (wait) => wait.seqno <= seqno);
  }

  private release(vb: number, persisted: boolean, matches: (wait: Wait) => boolean): void {
    const waits = this.waits.get(vb) ?? [];
    const released = waits.filter(matches);
    const left = waits.filter((wait) => !matches(wait));
    if (left.length === 0) this.waits.delete(vb);
    else this.waits.set(vb, left);
    this.count -= released.length;
    for (const wait of released) wait.done(persisted);
  }
}
