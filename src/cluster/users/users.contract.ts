// Routes of identities: users, groups, roles, and what a caller may do.

import { parsePermission } from '#auth/permission.ts';
import type { GrantedRole } from '#auth/role-rules.ts';
import type { RoleDefinition } from '#auth/roles/definition.ts';
import { field, openForm } from '#contract/fields.ts';
import { shape } from '#contract/json-schema.ts';
import { defineRoute } from '#contract/route.ts';
import type { Output } from '#contract/schema.ts';
import type { RoleWithOrigins } from './identities.ts';
import { groupShape, groupsShape, roleShape, userShape, usersShape, whoAmIShape } from './users.shapes.ts';
import type { StoredExternal, StoredGroup, StoredUser } from './users.store.ts';

const reads = { kind: 'permission', permission: 'cluster.admin.security!read' } as const;
const writes = { kind: 'permission', permission: 'cluster.admin.security!write' } as const;

const changedMeanwhile = {
  412: 'The request has `If-Match` with entity tags (`ETag` of the answer to GET), and the user or group has another one by now.',
};

const permission = field
  .text()
  .refine((text) => parsePermission(text) !== null, 'Malformed permission')
  .optional();

const paging = {
  pageSize: field.integer(2, 100).optional(),
  startFrom: field.text().optional(),
  startFromValue: field.text().optional(),
  order: field.oneOf(['asc', 'desc']).default('asc'),
  substr: field.text().optional(),
};

export const userListQuery = openForm({
  ...paging,
  permission,
  startFromDomain: field.oneOf(['local', 'external']).optional(),
  sortBy: field.oneOf(['id', 'name', 'domain', 'password_change_timestamp']).default('id'),
});
export type UserListQuery = Output<typeof userListQuery>;

export const groupListQuery = openForm({
  ...paging,
  sortBy: field.oneOf(['id', 'description', 'roles', 'ldap_group_ref']).default('id'),
});
export type GroupListQuery = Output<typeof groupListQuery>;

export const ListRoles = defineRoute({
  id: 'users.roles',
  method: 'GET',
  path: '/settings/rbac/roles',
  access: reads,
  query: openForm({ permission }),
  answer: { json: shape.array(roleShape) },
  doc: 'Lists the roles that can be granted, or those that include a permission.',
});

export const ListUsers = defineRoute({
  id: 'users.list',
  method: 'GET',
  path: '/settings/rbac/users',
  access: reads,
  query: userListQuery,
  answer: { json: usersShape },
  doc: 'Lists users, all or a page of them.',
});

export const ListUsersOfDomain = defineRoute({
  id: 'users.list_domain',
  method: 'GET',
  path: '/settings/rbac/users/:domain',
  access: reads,
  query: userListQuery,
  answer: { json: usersShape },
  doc: 'Lists the users of a domain, all or a page of them.',
});

export const ReadUser = defineRoute({
  id: 'users.read',
  method: 'GET',
  path: '/settings/rbac/users/:domain/:user',
  access: reads,
  answer: { json: userShape },
  doc: 'Reads a user.',
});

export const PutUser = defineRoute({
  id: 'users.put',
  method: 'PUT',
  path: '/settings/rbac/users/:domain/:user',
  access: writes,
  bodyKind: 'form',
  otherStatuses: changedMeanwhile,
  doc: 'Creates or replaces a user: name, password (required for a new local one; external users have none here), roles, groups; for local users limits.',
});

export const ChangeUserPassword = defineRoute({
  id: 'users.change_password',
  method: 'PATCH',
  path: '/settings/rbac/users/local/:user',
  access: { kind: 'permission', permission: 'cluster.admin.security.local!write' },
  bodyKind: 'form',
  doc: 'Changes the password of a user, and nothing else.',
});

export const DeleteUser = defineRoute({
  id: 'users.delete',
  method: 'DELETE',
  path: '/settings/rbac/users/:domain/:user',
  access: writes,
  otherStatuses: changedMeanwhile,
  doc: 'Deletes a user.',
});

export const ListGroups = defineRoute({
  id: 'groups.list',
  method: 'GET',
  path: '/settings/rbac/groups',
  access: reads,
  query: groupListQuery,
  answer: { json: groupsShape },
  doc: 'Lists groups, all or a page of them.',
});

export const ReadGroup = defineRoute({
  id: 'groups.read',
  method: 'GET',
  path: '/settings/rbac/groups/:group',
  access: reads,
  answer: { json: groupShape },
  doc: 'Reads a group.',
});

export const PutGroup = defineRoute({
  id: 'groups.put',
  method: 'PUT',
  path: '/settings/rbac/groups/:group',
  access: writes,
  bodyKind: 'form',
  otherStatuses: changedMeanwhile,
  doc: 'Creates or replaces a group: roles, description.',
});

export const DeleteGroup = defineRoute({
  id: 'groups.delete',
  method: 'DELETE',
  path: '/settings/rbac/groups/:group',
  access: writes,
  otherStatuses: changedMeanwhile,
  doc: 'Deletes a group; its users lose the roles of the group.',
});

export const ChangeOwnPassword = defineRoute({
  id: 'users.change_own_password',
  method: 'POST',
  path: '/controller/changePassword',
  access: { kind: 'authenticated' },
  bodyKind: 'form',
  otherStatuses: { 409: 'Another password was set meanwhile.' },
  doc: "Changes the caller's own password.",
});

export const WhoAmI = defineRoute({
  id: 'users.whoami',
  method: 'GET',
  path: '/whoami',
  access: { kind: 'anyone' },
  openBeforeProvisioning: true,
  answer: { json: whoAmIShape },
  doc: 'Returns the identity and the roles of the caller.',
});

export const CheckPermissions = defineRoute({
  id: 'users.check_permissions',
  method: 'POST',
  path: '/pools/default/checkPermissions',
  access: { kind: 'anyone' },
  bodyKind: 'raw',
  bodyBytesMax: 128 << 10,
  changesNothing: true,
  answer: { json: shape.record(shape.boolean) },
  doc: 'Returns which of the permissions in the body, separated by commas, the caller has.',
});

const paramNames = ['bucket_name', 'scope_name', 'collection_name'];

export function roleRecord(role: GrantedRole): Record<string, string> {
  const params = role.names.map((name, index) => [paramNames[index] as string, name ?? '*']);
  return { role: role.role, ...Object.fromEntries(params) };
}

export const listedRole = (role: GrantedRole, definition: RoleDefinition) => ({
  ...roleRecord(role),
  name: definition.name,
  desc: definition.description,
});

/** An external user has no password here. */
export type AnyUser = StoredExternal & Partial<Pick<StoredUser, 'passwordChangedMs' | 'limits'>>;

export const domainOf = (user: AnyUser) => (user.passwordChangedMs === undefined ? 'external' : 'local');

export const userRecord = (
  user: AnyUser,
  roles: readonly RoleWithOrigins[],
  directoryGroups: readonly string[],
) => ({
  id: user.id,
  domain: domainOf(user),
  roles: roles.map(({ role, origins }) => ({ ...roleRecord(role), origins: origins.map(originRecord) })),
  ...(user.limits && { limits: user.limits }),
  groups: user.groups,
  external_groups: directoryGroups,
  ...(user.name !== null && { name: user.name }),
  uuid: user.uuid,
  ...(user.passwordChangedMs !== undefined && {
    password_change_date: new Date(user.passwordChangedMs).toISOString(),
  }),
});

const originRecord = (group: string | null) =>
  group === null ? { type: 'user' } : { type: 'group', name: group };

/** `roles`: those of the group that apply. */
export const groupRecord = (group: StoredGroup, roles: readonly GrantedRole[]) => ({
  id: group.id,
  roles: roles.map(roleRecord),
  ...(group.description !== null && { description: group.description }),
  ...(group.ldapRef !== undefined && { ldap_group_ref: group.ldapRef }),
});
