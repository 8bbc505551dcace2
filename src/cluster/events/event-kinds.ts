// The kinds of events, in the two forms that published clients read: structured events and log entries. Event numbers are
// the published ones if there are any; ours start at 1000 in the cluster manager's range and at 10200 in that of security.

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

const plain = { severity: 'info', confidential: false, journal: 'events' } as const;
const data = { ...plain, component: 'data', module: 'ns_memcached' } as const;
const node = { ...plain, component: 'ns_server', module: 'node' } as const;
const refusal = {
  component: 'security',
  severity: 'warn',
  module: 'menelaus_web',
  confidential: true,
  journal: 'refusals',
} as const;

const bucket = (attributes: Attributes) => `Bucket "${attributes['bucket']}"`;
const times = ({ count }: Attributes) => (count === 1 ? '' : `, ${count} times`);
const userAndAddress = ({ user, from }: Attributes) => `${user ?? 'an unknown user'} from ${from}`;

const change: EventKind = {
  ...node,
  eventId: 1000,
  description: 'Administrative change',
  confidential: true,
  module: 'menelaus_web',
  code: 10,
  text: ({ user, from, method, path }) =>
    `${user === '' ? 'An unauthenticated client' : user} from ${from}: ${method} ${path}`,
};

const changeTo = (component: EventKind['component'], eventId: number, description: string): EventKind => ({
  ...change,
  component,
  eventId,
  description,
});

export const eventKinds = {
  node_started: {
    ...node,
    eventId: 1,
    description: 'Service started',
    code: 1,
    text: ({ version }) => `The node started (version ${version}).`,
  },
  node_stopped: {
    ...node,
    eventId: 1001,
    description: 'Service stopped',
    code: 2,
    text: () => 'The node was stopped.',
  },
  bucket_created: {
    ...data,
    eventId: 8192,
    description: 'Bucket created',
    code: 12,
    text: (attributes) => `${bucket(attributes)} was created.`,
  },
  bucket_deleted: {
    ...data,
    eventId: 8193,
    description: 'Bucket deleted',
    code: 11,
    text: (attributes) => `${bucket(attributes)} was deleted.`,
  },
  bucket_online: {
    ...data,
    eventId: 8199,
    description: 'Bucket online',
    code: 1,
    text: (attributes) => `${bucket(attributes)} is ready for clients.`,
  },
  bucket_offline: {
    ...data,
    eventId: 8200,
    description: 'Bucket offline',
    severity: 'error',
    code: 2,
    text: (attributes) => `${bucket(attributes)} does not serve clients.`,
  },
  bucket_trouble: {
    ...data,
    eventId: 8300,
    description: 'Bucket in trouble',
    severity: 'error',
    code: 3,
    text: ({ trouble }) => String(trouble),
  },
  mail_lost: {
    ...node,
    eventId: 1002,
    description: 'Alert not mailed',
    severity: 'warn',
    module: 'ns_mail',
    code: 1,
    text: ({ kind, reason }) => `The alert ${kind} could not be mailed: ${reason}`,
  },
  alert_raised: {
    ...node,
    eventId: 1003,
    description: 'Alert',
    severity: 'warn',
    module: 'menelaus_web_alerts_srv',
    code: 1,
    text: ({ text }) => String(text),
  },
  rebalance_ended: {
    ...node,
    eventId: 1004,
    description: 'Rebalance ended',
    module: 'ns_orchestrator',
    code: 1,
    text: ({ outcome, reason }) => `Rebalance ${outcome}${reason === undefined ? '' : `: ${reason}`}.`,
  },
  auto_failover: {
    ...node,
    eventId: 1005,
    description: 'Automatic failover',
    severity: 'warn',
    module: 'auto_failover',
    code: 1,
    text: ({ text }) => String(text),
  },
  login_failed: {
    ...refusal,
    eventId: 10200,
    description: 'Login failed',
    code: 11,
    text: (attributes) => `Login failed: ${userAndAddress(attributes)}${times(attributes)}.`,
  },
  permission_refused: {
    ...refusal,
    eventId: 10201,
    description: 'Permission refused',
    code: 12,
    text: (attributes) =>
      `Not allowed: ${userAndAddress(attributes)}, ${attributes['method']} ${attributes['path']}${times(attributes)}.`,
  },
  certificate_expiring: {
    ...plain,
    component: 'security',
    eventId: 10202,
    description: 'Certificate expires soon',
    code: 1,
    severity: 'warn',
    module: 'cert_manager',
    text: ({ text }) => String(text),
  },
  changed: change,
  scope_created: changeTo('data', 8194, 'Scope created'),
  scope_deleted: changeTo('data', 8195, 'Scope deleted'),
  collection_created: changeTo('data', 8196, 'Collection created'),
  collection_deleted: changeTo('data', 8197, 'Collection deleted'),
  bucket_flushed: changeTo('data', 8198, 'Bucket flushed'),
  bucket_changed: changeTo('data', 8201, 'Bucket configuration changed'),
  security_changed: changeTo('security', 9220, 'Security config changed'),
  password_policy_changed: changeTo('security', 9222, 'Password policy changed'),
  user_added: changeTo('security', 9223, 'User added or changed'),
  user_deleted: changeTo('security', 9224, 'User deleted'),
  group_added: changeTo('security', 9225, 'Group added or changed'),
  group_deleted: changeTo('security', 9226, 'Group deleted'),
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
