// Time as a port. All code that needs time takes a Clock; only this file reads the real one.

/** A timer that can be cancelled. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since 1970, may jump. */
  wallMs(): number;
  /** Monotonic milliseconds (with fraction) since an arbitrary start. */
  monotonicMs(): number;
  /** Calls `callback` once after `delayMs`. */
  after(delayMs: number, callback: () => void): Timer;
  /** Calls `callback` in the next turn of the event loop, after input and output. */
  soon(callback: () => void): void;
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** Monotonic milliseconds with the same start in all threads of the process. */
export const processMs = (): number => {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
};

/** Resolves in the next turn of the event loop, so that other work of the thread runs first. */
export const nextTurn = (clock: Pick<Clock, 'soon'>): Promise<void> =>
  new Promise((resolve) => clock.soon(resolve));

/**
 * Returns a function to call between parts of a long computation: it lets other work of the thread run once `sliceMs` of time are used up, and
 * resolves with whether it did.
 */
export function pausesOf(
  clock: Pick<Clock, 'monotonicMs' | 'soon'>,
  sliceMs: number,
): () => Promise<boolean> {
  let sliceStartMs = clock.monotonicMs();
  return async () => {
    if (clock.monotonicMs() - sliceStartMs < sliceMs) return false;
    await nextTurn(clock);
    sliceStartMs = clock.monotonicMs();
    return true;
  };
}

export const realClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, fire) {
    const handle = setTimeout(fire, delayMs);
    return { cancel: () => clearTimeout(handle) };
  },
  soon: (fire) => void setImmediate(fire),
  sleep: (delayMs, signal) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const handle = setTimeout(() => {
        signal?.removeEventListener('abort', abort);
        resolve();
      }, delayMs);
      const abort = () => {
        clearTimeout(handle);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', abort, { once: true });
    }),
};
