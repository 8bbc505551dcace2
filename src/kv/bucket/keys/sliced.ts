// Work that may be long, cut in steps of less than half a millisecond: the first few run at once, the others in later turns of the
// event loop. Only one such longer work runs at a time, so that few incomplete results are in memory.
import type { Clock } from '#ports/clock.ts';

export type Steps<Result> = Generator<void, Result>;

const stepsPerTurn = 3;

export class SlicedWork {
  private readonly clock: Pick<Clock, 'soon'>;
  private readonly waiting: (() => void)[] = [];
  private isBusy = false;

  constructor(clock: Pick<Clock, 'soon'>) {
    this.clock = clock;
  }

  /** Resolves in a later turn of the event loop. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.clock.soon(resolve));
  }

  /** Calls `done` before it returns if the work is short. */
  run<Result>(steps: Steps<Result>, done: (result: Result) => void): void {
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

const runLength = 512;

/** Sorts by merging runs; of equal keys one remains. */
export function* sortedSetInSteps(keys: readonly string[]): Steps<string[]> {
  let runs: string[][] = [];
  for (let at = 0; at < keys.length; at += runLength) {
    const run = keys.slice(at, at + runLength).sort();
    runs.push(run.filter((key, i) => i === 0 || key !== run[i - 1]));
    yield;
  }
  while (runs.length > 1) {
    const merged: string[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      const [left = [], right] = [runs[i], runs[i + 1]];
      merged.push(right === undefined ? left : yield* mergedInSteps(left, right));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergedInSteps(left: readonly string[], right: readonly string[]): Steps<string[]> {
  const merged: string[] = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    const [a, b] = [left[i], right[j]];
    const order = b === undefined ? -1 : a === undefined ? 1 : a < b ? -1 : a > b ? 1 : 0;
    merged.push((order <= 0 ? a : b) as string);
    if (order <= 0) i++;
    if (order >= 0) j++;
    if (merged.length % runLength === 0) yield;
  }
  return merged;
}
