import type { Clock } from '#ports/clock.ts';

/** A source of change notifications. */
export interface ChangeNotifier {
  onChange(listener: () => void): { stop(): void };
}

/** Waits until the condition holds, which is checked at each change of the source. Resolves with false after the timeout or if the caller aborts. */
export function until(
  source: ChangeNotifier,
  condition: () => boolean,
  timeoutMs: number,
  clock: Clock,
  signal?: AbortSignal,
): Promise<boolean> {
  if (condition()) return Promise.resolve(true);
  if (signal?.aborted) return Promise.resolve(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = clock.after(timeoutMs, () => finish(false));
  const subscription = source.onChange(() => condition() && finish(true));
  const aborted = () => finish(false);
  signal?.addEventListener('abort', aborted, { once: true });
  function finish(isMet: boolean): void {
    timer.cancel();
    subscription.stop();
    signal?.removeEventListener('abort', aborted);
    resolve(isMet);
  }
  return promise;
}
