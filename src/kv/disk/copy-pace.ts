// How fast a compaction copies: while commits run it takes half of the time, so that clients that write keep at least two thirds of their rate. A page
// is followed by a pause as long as commits ran during its copy; without commits there is no pause.
import type { Clock } from '#ports/clock.ts';

/** The most that one page adds to the pause: a page that took longer waited for a processor or the disk itself, and others were served meanwhile. */
const pauseMsMax = 30;
/** Shorter pauses are added up: each ends with waiting for a processor, and small vbuckets make small pages. */
const pauseMsMin = 10;

export class CopyPace {
  private readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
  private underWay = 0;
  private busySinceMs = 0;
  private endedBusyMs = 0;
  private owedMs = 0;

  constructor(clock: Pick<Clock, 'monotonicMs' | 'sleep'>) {
    this.clock = clock;
  }

  /** Runs a commit of any file: all share processors and disk with the copies. */
  async commit<T>(run: () => Promise<T>): Promise<T> {
    if (this.underWay++ === 0) this.busySinceMs = this.clock.monotonicMs();
    try {
      return await run();
    } finally {
      if (--this.underWay === 0) this.endedBusyMs += this.clock.monotonicMs() - this.busySinceMs;
    }
  }

  /** Copies a page, and pauses unless commits outrun the copy, which would then never end. */
  async page<T extends { isOutrun: boolean }>(copy: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const before = this.busyMs();
    const step = await copy();
    this.owedMs = step.isOutrun ? 0 : this.owedMs + Math.min(pauseMsMax, this.busyMs() - before);
    if (this.owedMs < pauseMsMin) return step;
    const pauseMs = this.owedMs;
    this.owedMs = 0;
    await this.clock.sleep(pauseMs, signal);
    return step;
  }

  /** The time in which commits were under way. */
  private busyMs(): number {
    const present = this.underWay > 0 ? this.clock.monotonicMs() - this.busySinceMs : 0;
    return this.endedBusyMs + present;
  }
}
