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
