// A timer for one file: some seconds after the last urgent commit (one that a client waited for) the disk engine frees the memory and the file
// that it keeps for urgent commits.
import type { Clock, Timer } from '#ports/clock.ts';

const delayMs = 5_000;

export class UrgentRelease {
  private readonly clock: Clock;
  private readonly end: () => Promise<void>;
  /** When the last urgent commit ended; null once the disk engine has freed what it kept. */
  private lastMs: number | null = null;
  private timer: Timer | null = null;
  private isPaused = true;

  constructor(clock: Clock, end: () => Promise<void>) {
    this.clock = clock;
    this.end = end;
  }

  /** Called after each urgent commit. */
  note(): void {
    this.lastMs = this.clock.monotonicMs();
    this.schedule();
  }

  pause(): void {
    this.isPaused = true;
    this.timer?.cancel();
    this.timer = null;
  }

  resume(): void {
    this.isPaused = false;
    if (this.lastMs !== null) this.schedule();
  }

  private schedule(): void {
    if (!this.isPaused) this.timer ??= this.clock.after(delayMs, () => this.check());
  }

  private check(): void {
    const { lastMs } = this;
    this.timer = null;
    if (lastMs === null) return;
    if (this.clock.monotonicMs() - lastMs < delayMs) {
      this.schedule();
      return;
    }
    this.lastMs = null;
    this.end().catch(() => {
      // The disk may be full: try again later.
      this.lastMs ??= lastMs;
      this.schedule();
    });
  }
}
