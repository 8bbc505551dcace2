import type { EventLog, EventQuery, EventRecord } from './event-log.ts';
import { shownEvent } from './events.contract.ts';

/** A client that reads slower than things happen loses the oldest of these. */
const pendingMax = 1_000;

/** What has happened, then what happens, until the client goes. */
export async function* followed(
  events: EventLog,
  query: EventQuery,
  signal: AbortSignal,
): AsyncGenerator<{ events: unknown[] }> {
  const pending: EventRecord[] = [];
  let wake = Promise.withResolvers<void>();
  const rouse = () => wake.resolve();
  const subscription = events.onEvent((record) => {
    if (!query.sees(record)) return;
    if (pending.length === pendingMax) pending.shift();
    pending.push(record);
    rouse();
  });
  signal.addEventListener('abort', rouse, { once: true });
  try {
    const before = await events.read(query);
    const sent = new Set(before.map(({ uuid }) => uuid));
    yield { events: before.map(shownEvent) };
    while (!signal.aborted) {
      const fresh = pending.splice(0).filter(({ uuid }) => !sent.has(uuid));
      sent.clear();
      if (fresh.length > 0) yield { events: fresh.map(shownEvent) };
      if (pending.length > 0 || signal.aborted) continue;
      wake = Promise.withResolvers<void>();
      await wake.promise;
    }
  } finally {
    subscription.stop();
    signal.removeEventListener('abort', rouse);
  }
}
