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
