// How far each vbucket of a bucket is persisted: the flusher reports it here; waiting calls, durable writes and streams ask
// here, or follow it.
import type { Clock, Timer } from '#ports/clock.ts';
import type { VbucketRows } from '../../vbucket/rows.ts';

export const persistenceWaitLimit = 65_536;
const checkEveryMs = 50;

/** Called when everything of a vbucket up to `seqno` is persisted. */
export interface PersistenceFollower {
  persisted(row: number, seqno: number): void;
}

interface Wait {
  seqno: number;
  deadlineMs: number;
  done: (persisted: boolean) => void;
}

export class Persistence {
  private readonly rows: VbucketRows;
  private readonly clock: Clock;
  private followers: readonly PersistenceFollower[] = [];
  private readonly waits = new Map<number, Wait[]>();
  private count = 0;
  private timer: Timer | null = null;

  constructor(rows: VbucketRows, clock: Clock) {
    this.rows = rows;
    this.clock = clock;
  }

  /** Sets the parts of the bucket to notify, in this order. Waiting calls are answered after them. */
  notify(...followers: readonly PersistenceFollower[]): void {
    this.followers = followers;
  }

  seqno(row: number): number {
    return this.rows.persistedSeqno[row] ?? 0;
  }

  /** Calls back once `seqno` is persisted, or with false after `timeoutMs`, or when too many calls wait. */
  wait(row: number, seqno: number, timeoutMs: number, done: (persisted: boolean) => void): void {
    if (this.count >= persistenceWaitLimit) {
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
