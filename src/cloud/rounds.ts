// Runs work periodically: each round starts some time after the previous one ended.
import type { Clock, Timer } from '#ports/clock.ts';

export interface RoundsOptions {
  readonly everyMs: number;
  readonly clock: Clock;
  /** Called when a round fails; the next round runs anyway. */
  readonly onError: (error: Error) => void;
}

export class Rounds {
  private readonly options: RoundsOptions;
  private timer: Timer | null = null;
  private running: Promise<void> = Promise.resolve();
  private stopped = false;

  constructor(options: RoundsOptions) {
    this.options = options;
  }

  start(round: () => Promise<void>): void {
    const { clock, everyMs, onError } = this.options;
    this.timer = clock.after(everyMs, () => {
      this.running = round()
        .catch(onError)
        .finally(() => {
          if (!this.stopped) this.start(round);
        });
    });
  }

  /** Resolves once the current round has ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.timer?.cancel();
    await this.running;
  }
}
