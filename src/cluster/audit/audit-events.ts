// The events of the audit log with their published numbers and the routes that cause them.
import { statementEvents } from '#query/audit.contract.ts';

export interface AuditEvent {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  /** Ids of routes. */
  readonly routes: readonly string[];
  /** The component that records it; absent: the cluster manager. */
  readonly module?: string;
  /** Operators may disable it. */
  readonly isOptional?: boolean;
}

const event = (id: number, name: string, description: string, ...routes: string[]): AuditEvent => ({
  id,
  name,
  description,
  routes,
});
const optional = (id: number, name: string, description: string, ...routes: string[]): AuditEvent => ({
  ...event(id, name, description, ...routes),
  isOptional: true,
});

export const loginFailed = event(8193, 'login failure', 'A login failed');
export const permissionRefused = event(
  8264,
  'authentication failure',
  'A request was refused for missing permissions',
);
export const alertMailed = optional(8257, 'alert email sent', 'An alert was sent by mail');
/** For changes that have no published number of their own. */
const otherChange = event(8209, 'change cluster settings', 'A setting of the cluster was changed');

const changes: readonly AuditEvent[] = [
  event(8194, 'delete user', 'A user was deleted', 'users.delete'),
  event(
    8195,
    'user credentials change',
    'A password was changed',
    'users.change_password',
    'users.change_own_password',
  ),
  event(8201, 'create bucket', 'A bucket was created', 'buckets.create'),
  event(8202, 'modify bucket', 'A bucket was changed', 'buckets.edit'),
  event(8203, 'delete bucket', 'A bucket was deleted', 'buckets.delete'),
  event(8204, 'flush bucket', 'A bucket was flushed', 'buckets.flush'),
  event(8205, 'start loading sample', 'A sample bucket was installed', 'samples.install'),
  event(
    8206,
    'disk storage conf',
    'Folders of the node were set',
    'provisioning.node_paths',
    'provisioning.named_node_paths',
  ),
  event(8207, 'rename node', 'The node was given a name', 'provisioning.rename'),
  event(8208, 'setup node services', 'Services of the node were set', 'provisioning.services'),
  event(8220, 'enable auto failover', 'Settings of auto-failover were changed', 'auto_failover.change'),
  event(8222, 'reset auto failover count', 'The count of failovers was reset', 'auto_failover.reset'),
  event(8223, 'enable cluster alerts', 'Settings of alerts were changed', 'alerts.change'),
  event(
    8225,
    'modify compaction settings',
    'Settings of auto-compaction were changed',
    'auto_compaction.change',
  ),
  event(8226, 'regenerate certificate', 'New certificates were made', 'certificates.regenerate'),
  event(8228, 'internal settings', 'Internal settings were changed', 'internal_settings.change'),
  event(
    8229,
    'upload cluster ca',
    'A certificate authority was added',
    'certificates.upload',
    'certificates.load_authorities',
  ),
  event(8230, 'reload node certificate', 'A certificate of the node was loaded', 'certificates.reload'),
  event(8231, 'modify index storage mode', 'The storage of indexes was set', 'provisioning.indexes'),
  event(8232, 'set user', 'A user was created or changed', 'users.put'),
  event(
    8233,
    'master password change',
    'The administrator was set',
    'provisioning.web',
    'provisioning.init_cluster',
  ),
  event(8235, 'password policy', 'The password policy was changed', 'password_policy.set'),
  event(8236, 'client cert auth', 'Logins by certificate were set', 'certificates.client_auth'),
  event(
    8237,
    'security settings',
    'Security settings were changed',
    'security.set',
    'security.set_part',
    'security.set_key',
  ),
  event(8238, 'start log collection', 'A support bundle was started', 'log_collection.start'),
  event(
    8239,
    'modify log redaction settings',
    'The redaction of support bundles was set',
    'log_redaction.change',
  ),
  event(8240, 'configured audit daemon', 'Settings of the audit log were changed', 'audit.change'),
  optional(
    8243,
    'mutate document',
    'A document was changed over REST',
    'documents.write',
    'documents.delete',
    'collection_documents.write',
    'collection_documents.delete',
  ),
  event(8244, 'set user group', 'A group was created or changed', 'groups.put'),
  event(8245, 'delete user group', 'A group was deleted', 'groups.delete'),
  event(8246, 'modify ldap settings', 'LDAP settings were changed', 'ldap.change'),
  event(8259, 'create scope', 'A scope was created', 'collections.add_scope'),
  event(8260, 'drop scope', 'A scope was dropped', 'collections.drop_scope'),
  event(8261, 'create collection', 'A collection was created', 'collections.add'),
  event(8262, 'drop collection', 'A collection was dropped', 'collections.drop'),
  event(8263, 'set manifest', 'All scopes and collections were replaced', 'collections.replace'),
  event(8269, 'delete cluster ca', 'A certificate authority was removed', 'certificates.remove_authority'),
];

const statements: readonly AuditEvent[] = statementEvents.map(({ id, words }) => ({
  ...optional(id, `${words} statement`, `A statement of the kind ${words} ended`),
  module: 'n1ql',
}));

export const auditEvents: readonly AuditEvent[] = [
  loginFailed,
  permissionRefused,
  alertMailed,
  otherChange,
  ...changes,
  ...statements,
].sort((a, b) => a.id - b.id);

const byRoute = new Map(changes.flatMap((change) => change.routes.map((route) => [route, change] as const)));

export const auditEventOf = (route: string): AuditEvent => byRoute.get(route) ?? otherChange;

const byId = new Map(auditEvents.map((auditEvent) => [auditEvent.id, auditEvent]));

export const auditEventOfId = (id: number): AuditEvent => byId.get(id) ?? otherChange;
