// Work that may be long, cut in steps of less than half a millisecond: some of them run in one turn of the thread, the rest in later
// turns. What takes more than its first turn waits until no other does, so that few results are half done at a time.
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

  /** Resolves in a turn that has time. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.clock.soon(resolve));
  }

  /** Calls back in the same turn when that suffices. */
  run<Result>(steps: Steps<Result>, done: (result: Result) => void): void {
    const goOn = (): boolean => {
      for (let left = stepsPerTurn; left > 0; left--) {
        const { done: isDone, value } = steps.next();
        if (!isDone) continue;
        done(value);
        return true;
      }
      return false;
    };
    if (goOn()) return;
    const turns = (): void => {
      if (goOn()) this.next();
      else this.clock.soon(turns);
    };
    this.waiting.push(turns);
    if (!this.isBusy) this.next();
  }

  private next(): void {
    const turns = this.waiting.shift();
    this.isBusy = turns !== undefined;
    if (turns) this.clock.soon(turns);
  }
}

const runLength = 512;

/** Sorts by merging runs; the order of equal items is not kept. */
export function* sortedInSteps(keys: readonly Buffer[]): Steps<Buffer[]> {
  let runs: Buffer[][] = [];
  for (let at = 0; at < keys.length; at += runLength) {
    runs.push(keys.slice(at, at + runLength).sort(Buffer.compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: Buffer[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      const [left = [], right] = [runs[i], runs[i + 1]];
      merged.push(right === undefined ? left : yield* mergedInSteps(left, right));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergedInSteps(left: readonly Buffer[], right: readonly Buffer[]): Steps<Buffer[]> {
  const merged: Buffer[] = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    const [a, b] = [left[i], right[j]];
    const isLeft = b === undefined || (a !== undefined && a.compare(b) <= 0);
    merged.push((isLeft ? a : b) as Buffer);
    if (isLeft) i++;
    else j++;
    if (merged.length % runLength === 0) yield;
  }
  return merged;
}
