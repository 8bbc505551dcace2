// Work in steps, between which the caller may serve other requests.

/** Ask it for one step after the other; the last has the result. */
export type WorkSteps<T> = Generator<undefined, T, undefined>;

/** The result of all steps at once. */
export function resultOf<T>(steps: WorkSteps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
