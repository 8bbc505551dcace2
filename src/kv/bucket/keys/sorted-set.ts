// Sorts numbers by the values to which they refer, in steps.
import type { WorkSteps } from '#base/steps.ts';

const runLength = 512;

/** Compares the values to which two numbers refer, such as places of keys: negative, 0 where both refer to equal values, or positive. */
type NumberOrder = (a: number, b: number) => number;

/** Sorts by merging runs; of equal numbers one remains. */
export function* sortedSetInSteps(numbers: Uint32Array, order: NumberOrder): WorkSteps<Uint32Array> {
  let runs: Uint32Array[] = [];
  for (let at = 0; at < numbers.length; at += runLength) {
    const run = numbers.slice(at, at + runLength).sort(order);
    runs.push(run.filter((number, i) => i === 0 || order(number, run[i - 1] as number) !== 0));
    yield;
  }
  while (runs.length > 1) {
    const merged: Uint32Array[] = [];
    for (let i = 0; i < runs.length; i += 2) {
      const [left, right] = [runs[i] as Uint32Array, runs[i + 1]];
      merged.push(right === undefined ? left : yield* mergedInSteps(left, right, order));
    }
    runs = merged;
  }
  return runs[0] ?? new Uint32Array(0);
}

function* mergedInSteps(left: Uint32Array, right: Uint32Array, order: NumberOrder): WorkSteps<Uint32Array> {
  const merged = new Uint32Array(left.length + right.length);
  let [i, j, length] = [0, 0, 0];
  while (i < left.length || j < right.length) {
    const ordered =
      i === left.length ? 1 : j === right.length ? -1 : order(left[i] as number, right[j] as number);
    merged[length++] = (ordered <= 0 ? left[i] : right[j]) as number;
    if (ordered <= 0) i++;
    if (ordered >= 0) j++;
    if (length % runLength === 0) yield;
  }
  return merged.subarray(0, length);
}
