// Handlers that return events: a list, and a stream of new ones.
import { type BoundRoute, bind, type Context, reply } from '#contract/route.ts';
import { eventKinds } from './event-kinds.ts';
import type { EventLog, EventRecord } from './event-log.ts';
import { eventStream } from './event-stream.ts';
import * as contract from './events.contract.ts';

export function eventRoutes(events: EventLog): BoundRoute[] {
  return [
    bind(contract.GetLogs, async ({ query: { sinceTime, limit } }, context) => {
      const found = await events.read({ sinceMs: sinceTime, limit, isVisible: visibleTo(context) });
      return reply.json({ list: found.map(contract.shownLogEntry) });
    }),
    bind(contract.GetEvents, async ({ query }, context) => {
      const found = await events.read(wanted(query, context));
      return reply.json({ events: found.map(contract.shownEvent) });
    }),
    bind(contract.StreamEvents, ({ query }, context) =>
      reply.stream((signal) => eventStream(events, wanted(query, context), signal)),
    ),
  ];
}

const wanted = (
  { sinceTime, limit }: { sinceTime: string | undefined; limit: number },
  context: Context,
) => ({
  sinceMs: sinceTime === undefined ? undefined : Date.parse(sinceTime),
  limit: limit === -1 ? contract.limitMax : limit,
  isVisible: visibleTo(context),
});

/** Events of changes and refusals are for administrators of the cluster or its security. */
function visibleTo(context: Context): (record: EventRecord) => boolean {
  const seesAll = context.may('cluster.admin.logs!read') || context.may('cluster.admin.security!read');
  return ({ name }) => seesAll || !eventKinds[name].confidential;
}
