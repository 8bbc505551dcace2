// The progress of each vbucket of a bucket: its highest seqno, the seqno that every member of its in-sync set has received (committed),
// and the persisted one. The flusher and the copies report here; waiting calls, durable writes and streams read it or follow it.
import type { Clock, Timer } from '#ports/clock.ts';
import { DurabilityLevel } from '../../data/documents.ts';
import type { VbucketRows } from '../../vbucket/rows.ts';
import { type SyncSet, SyncSets } from './sync-sets.ts';

export const persistenceWaitsMax = 65_536;
/** Interval of the checks of deadlines. */
const checkEveryMs = 50;
/** As published: with three copies durable writes are impossible. */
const majorityMax = 2;

/** Called when everything of a vbucket up to `seqno` is persisted. */
export interface PersistenceFollower {
  persisted(row: number, seqno: number): void;
}

/** Called when durable writes of a vbucket may have reached their levels, because its copies have more or its members changed. */
export interface CommitFollower {
  committed(row: number): void;
}

interface Wait {
  seqno: number;
  deadlineMs: number;
  done: (persisted: boolean) => void;
}

export class VbucketProgress {
  private readonly rows: VbucketRows;
  private readonly clock: Clock;
  private readonly rules: { readonly replicaNumber: number };
  private readonly sets: SyncSets;
  private commitFollowers: readonly CommitFollower[] = [];
  private followers: readonly PersistenceFollower[] = [];
  private readonly waits = new Map<number, Wait[]>();
  private count = 0;
  private timer: Timer | null = null;

  constructor(rows: VbucketRows, clock: Clock, rules: { readonly replicaNumber: number }) {
    this.rows = rows;
    this.clock = clock;
    this.rules = rules;
    this.sets = new SyncSets(rows);
  }

  /** Sets the parts of the bucket to notify, in this order. Waiting calls are answered after them. */
  notify(...followers: readonly PersistenceFollower[]): void {
    this.followers = followers;
  }

  /** Sets the parts of the bucket to notify of changes of the committed seqno. */
  notifyCommitted(...followers: readonly CommitFollower[]): void {
    this.commitFollowers = followers;
  }

  /** Calls back after each commit of the vbucket's file. */
  notifyPersisted(persisted: (row: number) => void): void {
    this.followers = [...this.followers, { persisted }];
  }

  /** The persisted seqno. */
  seqno(row: number): number {
    return this.rows.persistedSeqno[row] ?? 0;
  }

  /** Every member of the in-sync set has received everything up to here. */
  committedSeqno(row: number): number {
    return this.sets.seqno(row);
  }

  /** What a copy has received, member or not; 0 before it reported. */
  receivedSeqno(row: number, node: string): number {
    return this.sets.received(row, node);
  }

  /** Whether a write of this level is committed later than it is made: memory meets `majority` where there is no other member. */
  mustWait(row: number, level: DurabilityLevel): boolean {
    if (level === DurabilityLevel.none) return false;
    return level !== DurabilityLevel.majority || this.sets.hasOthers(row);
  }

  /** Members that the in-sync set needs for durable writes: more than half of the active and all copies. */
  get majority(): number {
    return Math.floor((this.rules.replicaNumber + 1) / 2) + 1;
  }

  /** Whether the in-sync set has enough members for a durable write. Never where the majority would be more than two. */
  hasMajority(row: number): boolean {
    const { majority } = this;
    return majority <= majorityMax && this.sets.size(row) >= majority;
  }

  /** Whether everything up to `seqno` has this level. */
  reaches(row: number, seqno: number, level: DurabilityLevel): boolean {
    const { sets } = this;
    if (sets.isBelow(row, this.majority) || (sets.hasOthers(row) && seqno > sets.seqno(row))) return false;
    if (level === DurabilityLevel.majority) return true;
    if (level === DurabilityLevel.majorityAndPersistActive) return seqno <= this.seqno(row);
    return sets.isPersistedBy(row, seqno, this.majority);
  }

  /** Sets the in-sync set of a vbucket that is active here; null: this node alone. */
  setMembers(row: number, set: SyncSet | null): void {
    this.sets.set(row, set);
    this.reportCommitted(row);
  }

  /** As `setMembers`, for a vbucket that becomes active here: nothing is committed until its members report. */
  beginMembers(row: number, set: SyncSet | null): void {
    this.sets.begin(row, set);
    this.reportCommitted(row);
  }

  /** A copy reports its received and its persisted seqno. */
  copied(row: number, node: string, received: number, persisted: number): void {
    if (this.sets.report(row, node, received, persisted)) this.reportCommitted(row);
  }

  /** Discards what the node has reported so far. */
  discardCopy(row: number, node: string): void {
    this.sets.discard(row, node);
  }

  /** Calls back once `seqno` is persisted, or with false after `timeoutMs`, or when too many calls wait. */
  wait(row: number, seqno: number, timeoutMs: number, done: (persisted: boolean) => void): void {
    if (this.count >= persistenceWaitsMax) {
      done(false);
      return;
    }
    const wait = { seqno, deadlineMs: this.clock.monotonicMs() + timeoutMs, done };
    const waits = this.waits.get(row);
    if (waits) waits.push(wait);
    else this.waits.set(row, [wait]);
    this.count++;
    this.timer ??= this.clock.after(checkEveryMs, () => this.checkDeadlines());
  }

  /** Called by the flusher after a commit. */
  advance(row: number, seqno: number): void {
    this.rows.persistedSeqno[row] = seqno;
    for (const follower of this.followers) follower.persisted(row, seqno);
    if (this.waits.has(row)) this.release(row, true, (wait) => wait.seqno <= seqno);
  }

  /** Answers all waiting calls with false, since the disk failed or the bucket stops. */
  failWaits(): void {
    this.timer?.cancel();
    this.timer = null;
    for (const row of [...this.waits.keys()]) this.release(row, false, () => true);
  }

  private reportCommitted(row: number): void {
    for (const follower of this.commitFollowers) follower.committed(row);
  }

  private checkDeadlines(): void {
    this.timer = null;
    const now = this.clock.monotonicMs();
    for (const row of [...this.waits.keys()]) this.release(row, false, (wait) => wait.deadlineMs <= now);
    if (this.count > 0) this.timer ??= this.clock.after(checkEveryMs, () => this.checkDeadlines());
  }

  private release(row: number, persisted: boolean, matches: (wait: Wait) => boolean): void {
    const waits = this.waits.get(row) ?? [];
    const released = waits.filter(matches);
    const left = waits.filter((wait) => !matches(wait));
    if (left.length === 0) this.waits.delete(row);
    else this.waits.set(row, left);
    this.count -= released.length;
    for (const wait of released) wait.done(persisted);
  }
}
