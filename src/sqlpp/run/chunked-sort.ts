// Sorts many items in chunks, which it then merges two by two, with pauses for other requests. Equal items keep their order.
import type { Run } from './run.ts';

/** Items that are sorted or merged without a pause: a few milliseconds of work. */
export const chunkRows = 2_048;

type Compare<T> = (a: T, b: T) => number;

export async function sortedInChunks<T>(
  run: Pick<Run, 'yieldIfDue'>,
  items: readonly T[],
  compare: Compare<T>,
): Promise<readonly T[]> {
  let sorted: (readonly T[])[] = [];
  for (let at = 0; at < items.length; at += chunkRows) {
    sorted.push(items.slice(at, at + chunkRows).sort(compare));
    await run.yieldIfDue();
  }
  while (sorted.length > 1) {
    const longer: (readonly T[])[] = [];
    for (let at = 0; at < sorted.length; at += 2)
      longer.push(await merged(run, sorted[at] as readonly T[], sorted[at + 1] ?? [], compare));
    sorted = longer;
  }
  return sorted[0] ?? [];
}

async function merged<T>(
  run: Pick<Run, 'yieldIfDue'>,
  left: readonly T[],
  right: readonly T[],
  compare: Compare<T>,
): Promise<readonly T[]> {
  if (right.length === 0) return left;
  const all: T[] = [];
  let [fromLeft, fromRight] = [0, 0];
  while (fromLeft < left.length && fromRight < right.length) {
    const isLeft = compare(left[fromLeft] as T, right[fromRight] as T) <= 0;
    all.push((isLeft ? left[fromLeft++] : right[fromRight++]) as T);
    if (all.length % chunkRows === 0) await run.yieldIfDue();
  }
  for (; fromLeft < left.length; fromLeft++) all.push(left[fromLeft] as T);
  for (; fromRight < right.length; fromRight++) all.push(right[fromRight] as T);
  return all;
}
