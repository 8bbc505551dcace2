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
 * Waits for a turn. If the signal aborts before it comes, this rejects with the signal's reason: `leave` takes the waiter out of its queue, and
 * returns false where its turn had come already.
 */
export async function turnOf<T>(
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
