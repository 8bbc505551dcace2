// Sorts many items in steps, between which the caller may serve other requests. Equal items keep their order.
import type { WorkSteps } from './steps.ts';

/** Items that one step sorts or merges: a few milliseconds of work. */
export const sortedAtOnce = 2_048;

type Compare<T> = (a: T, b: T) => number;

/** Sorts chunks, and merges them two by two. */
export function* sortInSteps<T>(items: readonly T[], compare: Compare<T>): WorkSteps<readonly T[]> {
  let sorted: (readonly T[])[] = [];
  for (let at = 0; at < items.length; at += sortedAtOnce) {
    sorted.push(items.slice(at, at + sortedAtOnce).sort(compare));
    yield;
  }
  while (sorted.length > 1) {
    const longer: (readonly T[])[] = [];
    for (let at = 0; at < sorted.length; at += 2)
      longer.push(yield* mergeInSteps(sorted[at] as readonly T[], sorted[at + 1] ?? [], compare));
    sorted = longer;
  }
  return sorted[0] ?? [];
}

function* mergeInSteps<T>(
  left: readonly T[],
  right: readonly T[],
  compare: Compare<T>,
): WorkSteps<readonly T[]> {
  if (right.length === 0) return left;
  const all: T[] = [];
  let [fromLeft, fromRight] = [0, 0];
  while (fromLeft < left.length && fromRight < right.length) {
    const isLeft = compare(left[fromLeft] as T, right[fromRight] as T) <= 0;
    all.push((isLeft ? left[fromLeft++] : right[fromRight++]) as T);
    if (all.length % sortedAtOnce === 0) yield;
  }
  for (; fromLeft < left.length; fromLeft++) all.push(left[fromLeft] as T);
  for (; fromRight < right.length; fromRight++) all.push(right[fromRight] as T);
  return all;
}
