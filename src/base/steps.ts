// Work in steps, between which the caller may serve other requests.

/** Work of which the caller runs one step after the other; the last step returns the result. */
export type WorkSteps<T> = Generator<undefined, T, undefined>;

/** Runs all steps without a pause, and returns the result. */
export function resultOf<T>(steps: WorkSteps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Items that `mapInSteps` maps in one step. */
const stepItems = 512;

/** Maps a list, which may be long, in steps. */
export function* mapInSteps<T, R>(items: readonly T[], map: (item: T, at: number) => R): WorkSteps<R[]> {
  const mapped: R[] = [];
  for (let at = 0; at < items.length; at++) {
    if (at % stepItems === stepItems - 1) yield;
    mapped.push(map(items[at] as T, at));
  }
  return mapped;
}
