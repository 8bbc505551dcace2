// Iterates rows until the request is aborted, without waiting for an engine that is blocked.
import { deferred } from '#base/deferred.ts';

/** @throws the signal's reason as soon as it is aborted */
export async function* untilAborted<T>(rows: AsyncIterable<T>, signal: AbortSignal): AsyncIterable<T> {
  const iterator = rows[Symbol.asyncIterator]();
  const aborted = deferred<never>();
  const abort = () => aborted.reject(signal.reason as Error);
  aborted.promise.catch(() => {}); // handled by the race below
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  let isOver = false;
  try {
    for (;;) {
      const step = await Promise.race([iterator.next(), aborted.promise]);
      isOver = step.done === true;
      if (step.done) return;
      yield step.value;
    }
  } finally {
    signal.removeEventListener('abort', abort);
    // The iterator frees its resources in the background; its result is not needed.
    if (!isOver) iterator.return?.().catch(() => {});
  }
}
