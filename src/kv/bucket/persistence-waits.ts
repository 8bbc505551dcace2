// Calls that wait until a seqno of a vbucket is on disk.
import type { Clock, Timer } from '#ports/clock.ts';

export const persistenceWaitLimit = 65_536;
const checkEveryMs = 50;

interface Wait {
  seqno: number;
  deadlineMs: number;
  done: (persisted: boolean) => void;
}

export class PersistenceWaits {
  private readonly byRow = new Map<number, Wait[]>();
  private readonly clock: Clock;
  private count = 0;
  private timer: Timer | null = null;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  add(row: number, seqno: number, timeoutMs: number, done: (persisted: boolean) => void): void {
    if (this.count >= persistenceWaitLimit) {
      done(false);
      return;
    }
    const wait = { seqno, deadlineMs: this.clock.monotonicMs() + timeoutMs, done };
    const waits = this.byRow.get(row);
    if (waits) waits.push(wait);
    else this.byRow.set(row, [wait]);
    this.count++;
    this.timer ??= this.clock.after(checkEveryMs, () => this.checkDeadlines());
  }

  persisted(row: number, seqno: number): void {
    if (this.byRow.has(row)) this.release(row, true, (wait) => wait.seqno <= seqno);
  }

  abandon(): void {
    this.timer?.cancel();
    this.timer = null;
    for (const row of [...this.byRow.keys()]) this.release(row, false, () => true);
  }

  private checkDeadlines(): void {
    this.timer = null;
    const now = this.clock.monotonicMs();
    for (const row of [...this.byRow.keys()]) this.release(row, false, (wait) => wait.deadlineMs <= now);
    if (this.count > 0) this.timer ??= this.clock.after(checkEveryMs, () => this.checkDeadlines());
  }

  private release(row: number, persisted: boolean, matches: (wait: Wait) => boolean): void {
    const waits = this.byRow.get(row) ?? [];
    const released = waits.filter(matches);
    const left = waits.filter((wait) => !matches(wait));
    if (left.length === 0) this.byRow.delete(row);
    else this.byRow.set(row, left);
    this.count -= released.length;
    for (const wait of released) wait.done(persisted);
  }
}
