import type { Changing } from './until.ts';

/**
 * Yields the result of `read` now and after every change of it, until it is null or the client disconnects. A slow
 * client skips intermediate changes, so nothing queues up.
 */
export async function* valueStream(
  sources: readonly Changing[],
  read: () => unknown,
  signal: AbortSignal,
): AsyncGenerator<unknown> {
  let wake = Promise.withResolvers<void>();
  const wakeUp = () => wake.resolve();
  const subscriptions = sources.map((source) => source.onChange(wakeUp));
  signal.addEventListener('abort', wakeUp, { once: true });
  try {
    let sent: string | null = null;
    while (!signal.aborted) {
      wake = Promise.withResolvers<void>();
      const value = read();
      if (value === null) return;
      const text = JSON.stringify(value);
      if (text !== sent) {
        sent = text;
        yield value;
      }
      if (!signal.aborted) await wake.promise;
    }
  } finally {
    for (const subscription of subscriptions) subscription.stop();
    signal.removeEventListener('abort', wakeUp);
  }
}
