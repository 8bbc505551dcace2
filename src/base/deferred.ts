/** A promise with its resolve and reject functions. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: Error): void;
}

export function deferred<T>(): Deferred<T> {
  return Promise.withResolvers<T>();
}

/**
 * Waits in a queue, whose owner resolves the promise to admit the waiter. If the signal aborts first, this rejects with the signal's reason.
 * `leave` removes the waiter from the queue; it returns false if the waiter has been admitted.
 */
export async function whenAdmitted<T>(
  { promise, reject }: Deferred<T>,
  signal: AbortSignal,
  leave: () => boolean,
): Promise<T> {
  const abort = (): void => {
    if (leave()) reject(signal.reason as Error);
  };
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
