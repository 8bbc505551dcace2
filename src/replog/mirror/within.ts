import type { Clock } from '#ports/clock.ts';

/** Rejects when the promise takes longer; what it does later is ignored. */
export async function within<T>(clock: Clock, timeoutMs: number, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = clock.after(timeoutMs, () => late.reject(new Error('no answer in time')));
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    timer.cancel();
    promise.catch(() => {});
  }
}
