// The stream of events for one client of the REST API.
import type { EventLog, EventQuery, EventRecord } from './event-log.ts';
import { shownEvent } from './events.contract.ts';

/** The number of events buffered for a slow client; the oldest are dropped. */
const pendingMax = 1_000;

/** Yields past events, then new ones, until the client disconnects. */
export async function* eventStream(
  events: EventLog,
  query: EventQuery,
  signal: AbortSignal,
): AsyncGenerator<{ events: unknown[] }> {
  const pending: EventRecord[] = [];
  let wake = Promise.withResolvers<void>();
  const wakeUp = () => wake.resolve();
  const subscription = events.onEvent((record) => {
    if (!query.isVisible(record)) return;
    if (pending.length === pendingMax) pending.shift();
    pending.push(record);
    wakeUp();
  });
  signal.addEventListener('abort', wakeUp, { once: true });
  try {
    const before = await events.read(query);
    const sent = new Set(before.map(({ uuid }) => uuid));
    yield { events: before.map(shownEvent) };
    while (!signal.aborted) {
      const unsent = pending.splice(0).filter(({ uuid }) => !sent.has(uuid));
      sent.clear();
      if (unsent.length > 0) yield { events: unsent.map(shownEvent) };
      if (pending.length > 0 || signal.aborted) continue;
      wake = Promise.withResolvers<void>();
      await wake.promise;
    }
  } finally {
    subscription.stop();
    signal.removeEventListener('abort', wakeUp);
  }
}
