// Runs work that may be long in steps of less than half a millisecond: the first few at once, the others in later turns of the
// event loop. Only one task with later steps runs at a time, so that few incomplete results are in memory.
import type { WorkSteps } from '#base/steps.ts';
import type { Clock } from '#ports/clock.ts';

const stepsPerTurn = 3;

export class SlicedWork {
  private readonly clock: Pick<Clock, 'soon'>;
  private readonly callersPerTurn: number;
  private readonly waiting: (() => void)[] = [];
  private isBusy = false;
  /** Callers that wait for a turn. */
  private readonly callers: (() => void)[] = [];

  /** `callersPerTurn`: how many callers of `turn` one turn of the event loop serves. */
  constructor(clock: Pick<Clock, 'soon'>, callersPerTurn = 2) {
    this.clock = clock;
    this.callersPerTurn = callersPerTurn;
  }

  /** Resolves in a later turn of the event loop. A turn serves few callers: the work of each is short, but there may be hundreds of callers. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.callers.push(resolve);
      if (this.callers.length === 1) this.clock.soon(this.runCallers);
    });
  }

  private readonly runCallers = (): void => {
    for (const resolve of this.callers.splice(0, this.callersPerTurn)) resolve();
    if (this.callers.length > 0) this.clock.soon(this.runCallers);
  };

  /** Calls `done` before it returns if the work is short. */
  run<Result>(steps: WorkSteps<Result>, done: (result: Result) => void): void {
    const runSteps = (): boolean => {
      for (let left = stepsPerTurn; left > 0; left--) {
        const { done: isDone, value } = steps.next();
        if (!isDone) continue;
        done(value);
        return true;
      }
      return false;
    };
    if (runSteps()) return;
    const runTurn = (): void => {
      if (runSteps()) this.next();
      else this.clock.soon(runTurn);
    };
    this.waiting.push(runTurn);
    if (!this.isBusy) this.next();
  }

  private next(): void {
    const runTurn = this.waiting.shift();
    this.isBusy = runTurn !== undefined;
    if (runTurn) this.clock.soon(runTurn);
  }
}
