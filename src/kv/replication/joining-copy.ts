// Chooses which copy of a shard joins its in-sync set next. A copy may join once it has every committed change. Where the active is the only
// member, each change is committed at once, so that a copy of a shard under steady writes never has them all: commits then wait for the copy
// first, as if it were a member.
import type { Clock } from '#ports/clock.ts';
import type { SyncMember } from '../admin.ts';
import type { Bucket } from '../bucket/bucket.ts';
import { copyKey } from './copy-feed.ts';

/** The longest time for which commits wait for a copy that is not a member. */
const durationMsMax = 500;
/** The pause after commits waited for a copy in vain. */
const retryPauseMs = 2_000;
/** Commits wait only for a copy that receives a change within about this time. */
const closeMs = 300;

export interface JoiningCopyOptions {
  /** The vbuckets of the shard. */
  vbs: readonly number[];
  bucket: Bucket;
  clock: Clock;
}

export class JoiningCopy {
  private readonly options: JoiningCopyOptions;
  /** The copy for which commits wait, and since when. */
  private counted: { readonly member: SyncMember; readonly sinceMs: number } | null = null;
  private notBeforeMs = -Infinity;
  /** By copy: the seqnos that the shard had at a time. */
  private readonly marks = new Map<string, { readonly seqnos: readonly number[]; readonly ms: number }>();

  constructor(options: JoiningCopyOptions) {
    this.options = options;
  }

  /** The copy for which commits wait although it is not a member; null: none. */
  get member(): SyncMember | null {
    return this.counted?.member ?? null;
  }

  /** Whether a copy that is no candidate for a wait yet may soon be one. */
  get isObserving(): boolean {
    return this.marks.size > 0 && this.options.clock.monotonicMs() >= this.notBeforeMs;
  }

  /** No longer waits for a copy that needs too long, or that is no candidate any more. Called at each check, whether or not the map can be changed. */
  follow(candidates: readonly SyncMember[]): void {
    if (this.counted === null) return;
    const now = this.options.clock.monotonicMs();
    const key = copyKey(this.counted.member);
    const isLate = now - this.counted.sinceMs > durationMsMax;
    if (isLate) this.notBeforeMs = now + retryPauseMs;
    if (isLate || !candidates.some((candidate) => copyKey(candidate) === key)) this.end();
  }

  /** The candidate that has everything that is committed. */
  completeCandidate(candidates: readonly SyncMember[]): SyncMember | null {
    return candidates.find((candidate) => this.hasCommitted(candidate)) ?? null;
  }

  /** Makes commits wait for a candidate that receives changes soon after they are made; false: there is none. */
  beginWait(candidates: readonly SyncMember[]): boolean {
    const now = this.options.clock.monotonicMs();
    if (candidates.length === 0 && this.marks.size === 0) return false;
    const keys = candidates.map(copyKey);
    for (const key of this.marks.keys()) if (!keys.includes(key)) this.marks.delete(key);
    if (this.counted !== null || now < this.notBeforeMs) return false;
    const member = candidates.filter((candidate) => this.isClose(candidate))[0];
    if (member === undefined) return false;
    this.counted = { member, sinceMs: now };
    return true;
  }

  private end(): void {
    this.counted = null;
    this.marks.clear();
  }

  private hasCommitted(member: SyncMember): boolean {
    const { progress } = this.options.bucket;
    const key = copyKey(member);
    return this.options.vbs.every((vb) => progress.receivedSeqno(vb, key) >= progress.committedSeqno(vb));
  }

  /** Whether the copy has received what the shard had shortly before. */
  private isClose(member: SyncMember): boolean {
    const { bucket, clock, vbs } = this.options;
    const key = copyKey(member);
    const mark = this.marks.get(key);
    const now = clock.monotonicMs();
    if (
      mark &&
      vbs.every((vb, index) => bucket.progress.receivedSeqno(vb, key) >= (mark.seqnos[index] as number))
    )
      return true;
    if (mark === undefined || now - mark.ms > closeMs)
      this.marks.set(key, { seqnos: vbs.map((vb) => bucket.columns.highSeqno[vb] as number), ms: now });
    return false;
  }
}
