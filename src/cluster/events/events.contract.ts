// Routes of events: log entries for people, structured events for programs.

import { field, openForm } from '#contract/fields.ts';
import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';
import { type EventKind, eventKinds } from './event-kinds.ts';
import type { EventRecord } from './event-log.ts';

const readLogs: Access = { kind: 'permission', permission: 'cluster.logs!read' };
export const defaultLimit = 250;
export const limitMax = 10_000;
const latestMs = 8_640_000_000_000_000;

const { object, each, array, string, integer, record, time } = shape;

const entryShape = object({
  ...each(string, 'node', 'type', 'module', 'shortText', 'text'),
  ...each(integer, 'code', 'tstamp'),
  serverTime: time,
});

const eventShape = shape.named(
  'Event',
  object(
    {
      timestamp: time,
      event_id: integer,
      ...each(string, 'component', 'description', 'severity', 'node', 'otp_node', 'uuid'),
    },
    { extra_attributes: record(shape.any) },
  ),
);

export const GetLogs = defineRoute({
  id: 'events.logs',
  method: 'GET',
  path: '/logs',
  access: readLogs,
  query: openForm({
    sinceTime: field.integer(0, latestMs).optional(),
    limit: field.integer(1, limitMax).default(defaultLimit),
  }),
  answer: { json: object({ list: array(entryShape) }) },
  doc: 'Log entries for people, of all nodes that answer, the newest last: the last entries, or the first since `sinceTime` (milliseconds since 1970).',
});

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;
const timeText = 'The value must be a valid ISO 8601 UTC timestamp';

const eventsQuery = openForm({
  sinceTime: field
    .text()
    .refine((text) => isoTime.test(text) && !Number.isNaN(Date.parse(text)), timeText)
    .optional(),
  limit: field
    .integer(-1, limitMax)
    .refine((limit) => limit !== 0, `The value must be -1 or in range from 1 to ${limitMax}`)
    .default(defaultLimit),
});

export const GetEvents = defineRoute({
  id: 'events.read',
  method: 'GET',
  path: '/events',
  access: readLogs,
  query: eventsQuery,
  answer: { json: object({ events: array(eventShape) }) },
  doc: 'Structured events of all nodes that answer, the oldest first: the last events, or the first since `sinceTime`; `limit=-1` means the largest limit.',
});

export const StreamEvents = defineRoute({
  id: 'events.stream',
  method: 'GET',
  path: '/eventsStreaming',
  access: readLogs,
  query: eventsQuery,
  answer: { json: object({ events: array(eventShape) }), stream: true },
  doc: 'The events of this node, followed by each new one.',
});

export function shownEvent({ atMs, uuid, name, otpNode, hostname, attributes }: EventRecord) {
  const { eventId, component, severity, description }: EventKind = eventKinds[name];
  return {
    timestamp: new Date(atMs).toISOString(),
    event_id: eventId,
    component,
    description,
    severity,
    node: hostname,
    otp_node: otpNode,
    uuid,
    ...(Object.keys(attributes).length > 0 && { extra_attributes: attributes }),
  };
}

const logTypes = { info: 'info', warn: 'warning', error: 'critical' } as const;

export function shownLogEntry({ atMs, name, otpNode, attributes }: EventRecord) {
  const kind: EventKind = eventKinds[name];
  return {
    node: otpNode,
    type: logTypes[kind.severity],
    code: kind.code,
    module: kind.module,
    tstamp: atMs,
    shortText: kind.description,
    text: kind.text(attributes),
    serverTime: new Date(atMs).toISOString(),
  };
}
