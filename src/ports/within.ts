import type { Clock } from './clock.ts';

/** Rejects with `timeoutError` when the promise takes longer; its later outcome is ignored. */
export async function within<T>(
  clock: Pick<Clock, 'after'>,
  timeoutMs: number,
  promise: Promise<T>,
  timeoutError: () => Error = () => new Error('no answer in time'),
): Promise<T> {
  const { promise: timedOut, reject } = Promise.withResolvers<never>();
  const timer = clock.after(timeoutMs, () => reject(timeoutError()));
  try {
    return await Promise.race([promise, timedOut]);
  } finally {
    timer.cancel();
    promise.catch(() => {});
  }
}

/** Resolves when the promise does, at the latest after `timeoutMs`. */
export async function atMost(
  clock: Pick<Clock, 'after'>,
  timeoutMs: number,
  promise: Promise<unknown>,
): Promise<void> {
  const { promise: timedOut, resolve } = Promise.withResolvers<void>();
  const timer = clock.after(timeoutMs, resolve);
  try {
    await Promise.race([promise, timedOut]);
  } finally {
    timer.cancel();
  }
}

/** Resolves as the work, or rejects when the signal aborts; `discard` then gets the result of work that cannot be cancelled and ends later. */
export async function untilAborted<T>(
  signal: AbortSignal,
  work: Promise<T>,
  discard: (late: T) => void = () => {},
): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([aborted, work]);
  } catch (error) {
    if (signal.aborted) work.then(discard, () => {});
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
