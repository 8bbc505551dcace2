// Applies a function to many items, a few at a time.

const fewAtOnce = 4;

/** Begins in the order of the items. Throws the first error once all have ended. */
export async function inParallel<T>(
  items: readonly T[],
  act: (item: T) => Promise<void>,
  concurrentMax = fewAtOnce,
): Promise<void> {
  const waiting = items.values();
  const errors: unknown[] = [];
  const next = async (): Promise<void> => {
    for (const item of waiting) {
      try {
        await act(item);
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: concurrentMax }, next));
  if (errors.length > 0) throw errors[0];
}
