// The kinds of events, in the two forms that published clients read: structured events and log entries. Event numbers are the published ones if
// there are any; those of events that only Divan has start at 1000 for the cluster manager, at 8300 for the data
// service and at 10200 for security.

export type Attributes = Readonly<Record<string, unknown>>;

export interface EventKind {
  readonly eventId: number;
  readonly component: 'ns_server' | 'data' | 'security';
  readonly severity: 'info' | 'warn' | 'error';
  readonly description: string;
  /** Module and number of the log entry. */
  readonly module: string;
  readonly code: number;
  readonly text: (attributes: Attributes) => string;
  /** Only for callers that may read the cluster's logs or its security settings. */
  readonly confidential: boolean;
  /** Events that unauthenticated clients can cause have their own journal, so that they cannot displace others. */
  readonly journal: JournalName;
}

export type JournalName = 'events' | 'refusals';

const infoEvent = { severity: 'info', confidential: false, journal: 'events' } as const;
const dataEvent = { ...infoEvent, component: 'data', module: 'ns_memcached' } as const;
const nodeEvent = { ...infoEvent, component: 'ns_server', module: 'node' } as const;
const refusalEvent = {
  component: 'security',
  severity: 'warn',
  module: 'menelaus_web',
  confidential: true,
  journal: 'refusals',
} as const;

const bucketText = (attributes: Attributes) => `Bucket "${attributes['bucket']}"`;
const timesText = ({ count }: Attributes) => (count === 1 ? '' : `, ${count} times`);
/** The request that was refused; one to a service of its own ports has no method. */
const requestText = ({ method, path, operation }: Attributes) =>
  method === undefined ? operation : `${method} ${path}`;
const userAndAddress = ({ user, from }: Attributes) => `${user ?? 'an unknown user'} from ${from}`;

const change: EventKind = {
  ...nodeEvent,
  eventId: 1000,
  description: 'Administrative change',
  confidential: true,
  module: 'menelaus_web',
  code: 10,
  text: ({ user, from, method, path }) =>
    `${user === '' ? 'An unauthenticated client' : user} from ${from}: ${method} ${path}`,
};

const changeKind = (component: EventKind['component'], eventId: number, description: string): EventKind => ({
  ...change,
  component,
  eventId,
  description,
});

export const eventKinds = {
  node_started: {
    ...nodeEvent,
    eventId: 1,
    description: 'Service started',
    code: 1,
    text: ({ version }) => `The node started (version ${version}).`,
  },
  node_stopped: {
    ...nodeEvent,
    eventId: 1001,
    description: 'Service stopped',
    code: 2,
    text: () => 'The node was stopped.',
  },
  bucket_created: {
    ...dataEvent,
    eventId: 8192,
    description: 'Bucket created',
    code: 12,
    text: (attributes) => `${bucketText(attributes)} was created.`,
  },
  bucket_deleted: {
    ...dataEvent,
    eventId: 8193,
    description: 'Bucket deleted',
    code: 11,
    text: (attributes) => `${bucketText(attributes)} was deleted.`,
  },
  bucket_online: {
    ...dataEvent,
    eventId: 8199,
    description: 'Bucket online',
    code: 1,
    text: (attributes) => `${bucketText(attributes)} is ready for clients.`,
  },
  bucket_offline: {
    ...dataEvent,
    eventId: 8200,
    description: 'Bucket offline',
    severity: 'error',
    code: 2,
    text: (attributes) => `${bucketText(attributes)} does not serve clients.`,
  },
  bucket_trouble: {
    ...dataEvent,
    eventId: 8300,
    description: 'Bucket in trouble',
    severity: 'error',
    code: 3,
    text: ({ trouble }) => String(trouble),
  },
  shards_promoted_elsewhere: {
    ...dataEvent,
    eventId: 8301,
    description: 'Shards are served by other nodes',
    severity: 'warn',
    code: 4,
    text: ({ bucket, served, share }) =>
      `Other nodes have taken over shards of bucket "${bucket}", as after a kill and restart of this node. Until a rebalance this node serves ${served} shards, and its share is ${share}.`,
  },
  mail_lost: {
    ...nodeEvent,
    eventId: 1002,
    description: 'Alert not mailed',
    severity: 'warn',
    module: 'ns_mail',
    code: 1,
    text: ({ kind, reason }) => `The alert ${kind} could not be mailed: ${reason}`,
  },
  alert_raised: {
    ...nodeEvent,
    eventId: 1003,
    description: 'Alert',
    severity: 'warn',
    module: 'menelaus_web_alerts_srv',
    code: 1,
    text: ({ text }) => String(text),
  },
  rebalance_ended: {
    ...nodeEvent,
    eventId: 1004,
    description: 'Rebalance ended',
    module: 'ns_orchestrator',
    code: 1,
    text: ({ outcome, reason }) => `Rebalance ${outcome}${reason === undefined ? '' : `: ${reason}`}.`,
  },
  auto_failover: {
    ...nodeEvent,
    eventId: 1005,
    description: 'Automatic failover',
    severity: 'warn',
    module: 'auto_failover',
    code: 1,
    text: ({ text }) => String(text),
  },
  sample_loaded: {
    ...nodeEvent,
    eventId: 1006,
    description: 'Sample bucket loaded',
    module: 'samples_loader_tasks',
    code: 1,
    text: ({ bucket, indexes }) =>
      `Completed loading sample bucket ${bucket}${indexes === 0 ? ', without indexes: no node has the index service' : ''}.`,
  },
  sample_load_failed: {
    ...nodeEvent,
    eventId: 1007,
    description: 'Sample bucket not loaded',
    severity: 'error',
    module: 'samples_loader_tasks',
    code: 2,
    text: ({ bucket, reason }) => `Loading sample bucket ${bucket} failed: ${reason}`,
  },
  login_failed: {
    ...refusalEvent,
    eventId: 10200,
    description: 'Login failed',
    code: 11,
    text: (attributes) => `Login failed: ${userAndAddress(attributes)}${timesText(attributes)}.`,
  },
  permission_refused: {
    ...refusalEvent,
    eventId: 10201,
    description: 'Permission refused',
    code: 12,
    text: (attributes) =>
      `Not allowed: ${userAndAddress(attributes)}, ${requestText(attributes)}${timesText(attributes)}.`,
  },
  certificate_expiring: {
    ...infoEvent,
    component: 'security',
    eventId: 10202,
    description: 'Certificate expires soon',
    code: 1,
    severity: 'warn',
    module: 'cert_manager',
    text: ({ text }) => String(text),
  },
  changed: change,
  scope_created: changeKind('data', 8194, 'Scope created'),
  scope_deleted: changeKind('data', 8195, 'Scope deleted'),
  collection_created: changeKind('data', 8196, 'Collection created'),
  collection_deleted: changeKind('data', 8197, 'Collection deleted'),
  bucket_flushed: changeKind('data', 8198, 'Bucket flushed'),
  bucket_changed: changeKind('data', 8201, 'Bucket configuration changed'),
  security_changed: changeKind('security', 9220, 'Security config changed'),
  password_policy_changed: changeKind('security', 9222, 'Password policy changed'),
  user_added: changeKind('security', 9223, 'User added or changed'),
  user_deleted: changeKind('security', 9224, 'User deleted'),
  group_added: changeKind('security', 9225, 'Group added or changed'),
  group_deleted: changeKind('security', 9226, 'Group deleted'),
} as const satisfies Record<string, EventKind>;

export type EventName = keyof typeof eventKinds;

export const isEventName = (name: string): name is EventName => Object.hasOwn(eventKinds, name);

/** Changes with a published event number, by the route that makes them. */
const changesByRoute: Readonly<Record<string, EventName>> = {
  'collections.add_scope': 'scope_created',
  'collections.drop_scope': 'scope_deleted',
  'collections.add': 'collection_created',
  'collections.drop': 'collection_deleted',
  'buckets.flush': 'bucket_flushed',
  'buckets.edit': 'bucket_changed',
  'password_policy.set': 'password_policy_changed',
  'users.put': 'user_added',
  'users.delete': 'user_deleted',
  'groups.put': 'group_added',
  'groups.delete': 'group_deleted',
};

export const changeByRoute = (id: string): EventName =>
  changesByRoute[id] ?? (id.startsWith('security.') ? 'security_changed' : 'changed');
