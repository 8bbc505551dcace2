// A manual clock that shows how work is divided among turns.
import { turnLimits } from '../../src/kv/turn-clock.ts';
import { ManualClock } from './manual-clock.ts';

/** Each reading of the clock ends a turn, so the number of turns measures the work. */
export class TurnEndingClock extends ManualClock {
  turns = 0;
  private readings = 0;

  override monotonicMs(): number {
    return super.monotonicMs() + turnLimits.turnMs * this.readings++;
  }

  override soon(callback: () => void): void {
    this.turns++;
    super.soon(callback);
  }
}
