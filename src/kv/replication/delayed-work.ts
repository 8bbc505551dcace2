// Delays work that no client waits for by a short time and then does all of it together, so that busy nodes exchange few large writes
// instead of many small ones.
import type { Clock } from '#ports/clock.ts';

/** Far below the two seconds of changes that a copy may lack. */
export const delayMs = 2;

export class DelayedWork {
  private readonly clock: Clock;
  private waiting: (() => void)[] = [];

  constructor(clock: Clock) {
    this.clock = clock;
  }

  add(act: () => void): void {
    if (this.waiting.push(act) === 1) this.clock.after(delayMs, () => this.run());
  }

  private run(): void {
    const due = this.waiting;
    this.waiting = [];
    for (const act of due) act();
  }
}
