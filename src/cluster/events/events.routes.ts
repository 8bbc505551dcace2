// Handlers that return events: lists of the events of all nodes, and a stream of the events of this node.
import { type BoundRoute, bind, type Context, reply } from '#contract/route.ts';
import type { EventLog } from './event-log.ts';
import { eventStream } from './event-stream.ts';
import * as contract from './events.contract.ts';
import { type NodesEvents, visibleTo, type WantedEvents } from './nodes-events.ts';

export function eventRoutes(events: EventLog, ofAllNodes: Pick<NodesEvents, 'read'>): BoundRoute[] {
  return [
    bind(contract.GetLogs, async ({ query: { sinceTime, limit } }, context) => {
      const found = await ofAllNodes.read({ sinceMs: sinceTime, limit, seesAll: seesAll(context) });
      return reply.json({ list: found.map(contract.shownLogEntry) });
    }),
    bind(contract.GetEvents, async ({ query }, context) => {
      const found = await ofAllNodes.read(wanted(query, context));
      return reply.json({ events: found.map(contract.shownEvent) });
    }),
    bind(contract.StreamEvents, ({ query }, context) => {
      const { seesAll: all, ...interval } = wanted(query, context);
      return reply.stream((signal) =>
        eventStream(events, { ...interval, isVisible: visibleTo(all) }, signal),
      );
    }),
  ];
}

const wanted = (
  { sinceTime, limit }: { sinceTime: string | undefined; limit: number },
  context: Context,
): WantedEvents => ({
  sinceMs: sinceTime === undefined ? undefined : Date.parse(sinceTime),
  limit: limit === -1 ? contract.limitMax : limit,
  seesAll: seesAll(context),
});

/** Events of changes and refusals are for administrators of the cluster or its security. */
const seesAll = (context: Context): boolean =>
  context.may('cluster.admin.logs!read') || context.may('cluster.admin.security!read');
