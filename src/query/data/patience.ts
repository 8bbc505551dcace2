// Repeats a reading that the data service cannot answer for a moment: while a bucket is flushed or loaded, or after a lost connection.
import { DataPortError, isPassing, StatusError } from '#client/data-port-error.ts';
import type { Clock } from '#ports/clock.ts';

export interface Patience {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const pauseMs = { first: 10, most: 500 } as const;
/** Afterwards the failure is the answer. */
const totalMs = 10_000;

/** Rejects with the last failure, or with the signal's reason. */
export async function patiently<T>({ clock, signal }: Patience, read: () => Promise<T>): Promise<T> {
  const endMs = clock.monotonicMs() + totalMs;
  for (let delayMs: number = pauseMs.first; ; delayMs = Math.min(2 * delayMs, pauseMs.most)) {
    try {
      return await read();
    } catch (error) {
      if (!isForNow(error) || clock.monotonicMs() + delayMs > endMs) throw error;
    }
    await clock.sleep(delayMs, signal);
  }
}

const isForNow = (error: unknown): boolean =>
  error instanceof DataPortError || (error instanceof StatusError && isPassing(error.status));
