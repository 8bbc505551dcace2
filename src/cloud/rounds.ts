// Work that is done again and again: each round begins some time after the one before is over.
import type { Clock, Timer } from '#ports/clock.ts';

export interface RoundsOptions {
  readonly everyMs: number;
  readonly clock: Clock;
  /** A round failed; the next one comes all the same. */
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

  /** Resolves once the round under way is over. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.timer?.cancel();
    await this.running;
  }
}
