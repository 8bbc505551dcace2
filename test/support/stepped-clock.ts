// A clock that advances only by the cost that the work under test reports, and whose turns of the event loop a test runs one by one.
import { ManualClock } from './manual-clock.ts';

export class SteppedClock extends ManualClock {
  #soon: (() => void)[] = [];

  override soon(callback: () => void): void {
    this.#soon.push(callback);
  }

  /** Simulates work that takes this long. */
  spend(ms: number): void {
    this.advance(ms);
  }

  /** Runs what was deferred to the next turn, and what that resolves. */
  async turn(): Promise<void> {
    for (const fire of this.#soon.splice(0)) fire();
    await new Promise((resolve) => setImmediate(resolve));
  }

  get hasDeferred(): boolean {
    return this.#soon.length > 0;
  }
}
