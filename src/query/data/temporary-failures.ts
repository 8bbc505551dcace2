// Retries a read after temporary failures of the data service: a bucket that is flushed or loads, or a lost connection.
import { DataPortError, isTransient, StatusError } from '#client/data-port-error.ts';
import type { Clock } from '#ports/clock.ts';

export interface RetryOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const pauseMs = { first: 10, most: 500 } as const;
/** How long to retry before the failure is returned. */
const totalMs = 10_000;

/** Retries `read`. Rejects with the last failure, or with the signal's reason. */
export async function retryTemporary<T>({ clock, signal }: RetryOptions, read: () => Promise<T>): Promise<T> {
  const endMs = clock.monotonicMs() + totalMs;
  for (let delayMs: number = pauseMs.first; ; delayMs = Math.min(2 * delayMs, pauseMs.most)) {
    try {
      return await read();
    } catch (error) {
      if (!isTemporary(error) || clock.monotonicMs() + delayMs > endMs) throw error;
    }
    await clock.sleep(delayMs, signal);
  }
}

const isTemporary = (error: unknown): boolean =>
  error instanceof DataPortError || (error instanceof StatusError && isTransient(error.status));
