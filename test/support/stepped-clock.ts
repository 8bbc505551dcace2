// A clock that moves only by what the work under test says it costs, and whose turns of the event loop a test runs one by one.
import { ManualClock } from './manual-clock.ts';

export class SteppedClock extends ManualClock {
  #soon: (() => void)[] = [];

  override soon(fire: () => void): void {
    this.#soon.push(fire);
  }

  /** Something took so long. */
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
