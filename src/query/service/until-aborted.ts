// Rows until the request ends: an engine that waits for something else is not waited for.
import { deferred } from '#base/deferred.ts';

/** @throws the signal's reason as soon as it is aborted */
export async function* untilAborted<T>(rows: AsyncIterable<T>, signal: AbortSignal): AsyncIterable<T> {
  const iterator = rows[Symbol.asyncIterator]();
  const aborted = deferred<never>();
  const abort = () => aborted.reject(signal.reason as Error);
  aborted.promise.catch(() => {}); // it is raced below, if at all
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
    // What it still does comes to nothing: it frees what it holds, and nobody waits.
    if (!isOver) iterator.return?.().catch(() => {});
  }
}
