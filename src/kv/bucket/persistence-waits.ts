// Callers who wait until a seqno of a vbucket is on disk.
import type { Clock, Timer } from '#ports/clock.ts';

export const persistenceWaitLimit = 65_536;
const checkEveryMs = 50;

interface Wait {
  row: number;
  seqno: number;
  deadlineMs: number;
  done: (persisted: boolean) => void;
}

export class PersistenceWaits {
  private waits: Wait[] = [];
  private readonly clock: Clock;
  private timer: Timer | null = null;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  add(row: number, seqno: number, timeoutMs: number, done: (persisted: boolean) => void): void {
    if (this.waits.length >= persistenceWaitLimit) {
      done(false);
      return;
    }
    this.waits.push({ row, seqno, deadlineMs: this.clock.monotonicMs() + timeoutMs, done });
    this.timer ??= this.clock.after(checkEveryMs, () => this.checkDeadlines());
  }

  persisted(row: number, seqno: number): void {
    if (this.waits.length > 0) this.release(true, (wait) => wait.row === row && wait.seqno <= seqno);
  }

  abandon(): void {
    this.timer?.cancel();
    this.timer = null;
    this.release(false, () => true);
  }

  private checkDeadlines(): void {
    this.timer = null;
    const now = this.clock.monotonicMs();
    this.release(false, (wait) => wait.deadlineMs <= now);
    if (this.waits.length > 0) this.timer ??= this.clock.after(checkEveryMs, () => this.checkDeadlines());
  }

  private release(persisted: boolean, matches: (wait: Wait) => boolean): void {
    const released = this.waits.filter(matches);
    if (released.length > 0) this.waits = this.waits.filter((wait) => !matches(wait));
    for (const wait of released) wait.done(persisted);
  }
}
