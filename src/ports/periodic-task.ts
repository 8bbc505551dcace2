// Runs a task periodically: each run starts a fixed time after the previous one ended.
import type { Clock, Timer } from './clock.ts';

export interface PeriodicTaskOptions {
  readonly everyMs: number;
  readonly clock: Clock;
  /** Called if a run fails; the next one starts anyway. */
  readonly onError: (error: Error) => void;
}

export class PeriodicTask {
  readonly #options: PeriodicTaskOptions;
  /** Null while stopped. */
  #task: (() => Promise<void>) | null = null;
  #timer: Timer | null = null;
  #run: Promise<void> | null = null;

  constructor(options: PeriodicTaskOptions) {
    this.#options = options;
  }

  /** May be called again after `stop`. The first run starts after `everyMs`. */
  start(task: () => Promise<void>): void {
    this.#task = task;
    // A run that began before `stop` may still be under way: it schedules the next one when it ends, so that two never run at once.
    if (this.#run === null) this.#schedule();
  }

  /** Resolves once the current run has ended. */
  async stop(): Promise<void> {
    this.#task = null;
    this.#timer?.cancel();
    await this.#run;
  }

  #schedule(): void {
    const { clock, everyMs } = this.#options;
    this.#timer?.cancel();
    this.#timer = clock.after(everyMs, () => {
      this.#run = this.#runOnce();
    });
  }

  async #runOnce(): Promise<void> {
    try {
      await this.#task?.();
    } catch (error) {
      this.#options.onError(error as Error);
    }
    this.#run = null;
    if (this.#task !== null) this.#schedule();
  }
}
