// Runs a task periodically: each run starts a fixed time after the previous one ended.
import type { Clock, Timer } from '#ports/clock.ts';

export interface PeriodicTaskOptions {
  readonly everyMs: number;
  readonly clock: Clock;
  /** Called if a run fails; the next one starts anyway. */
  readonly onError: (error: Error) => void;
}

export class PeriodicTask {
  private readonly options: PeriodicTaskOptions;
  private timer: Timer | null = null;
  private running: Promise<void> = Promise.resolve();
  private stopped = false;

  constructor(options: PeriodicTaskOptions) {
    this.options = options;
  }

  start(task: () => Promise<void>): void {
    const { clock, everyMs, onError } = this.options;
    this.timer = clock.after(everyMs, () => {
      this.running = task()
        .catch(onError)
        .finally(() => {
          if (!this.stopped) this.start(task);
        });
    });
  }

  /** Resolves once the current run has ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.timer?.cancel();
    await this.running;
  }
}
