import type { ChangeNotifier } from './until.ts';

/**
 * Yields the text that `read` returns now and after every change of it, until it is null or the client disconnects. A slow client
 * skips intermediate changes, so nothing queues up.
 */
export async function* textStream(
  sources: readonly ChangeNotifier[],
  read: () => string | null,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let wake = Promise.withResolvers<void>();
  const wakeUp = () => wake.resolve();
  const subscriptions = sources.map((source) => source.onChange(wakeUp));
  signal.addEventListener('abort', wakeUp, { once: true });
  try {
    let sent: string | null = null;
    while (!signal.aborted) {
      wake = Promise.withResolvers<void>();
      const text = read();
      if (text === null) return;
      if (text !== sent) {
        sent = text;
        yield text;
      }
      if (!signal.aborted) await wake.promise;
    }
  } finally {
    for (const subscription of subscriptions) subscription.stop();
    signal.removeEventListener('abort', wakeUp);
  }
}
