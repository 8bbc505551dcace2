// Which users and groups a caller may see and change, beyond the routes' permissions: only full administrators grant and revoke
// administrators' roles, and only administrators of local users manage local users.
import { type Permission, parsePermission } from '#auth/permission.ts';
import { allows, type GrantedRole } from '#auth/role-rules.ts';
import { assert } from '#base/assert.ts';
import { generalRefusals } from '#contract/general.refusals.ts';
import type { Context } from '#contract/route.ts';

const seesSecurityRoles = 'cluster.admin.security.admin!read';
const grantsSecurityRoles = 'cluster.admin.security.admin!write';

export type Domain = 'local' | 'external';

/** True for the roles that can see or change security settings: administrators of some kind. */
export const isSecurityRole = (role: GrantedRole): boolean =>
  allows([role], permissionOf('cluster.admin.security!any'));

export const maySeeSecurityRoles = (context: Context): boolean => context.may(seesSecurityRoles);

export function maySeeUser(context: Context, roles: readonly GrantedRole[], domain: Domain): boolean {
  return context.may(`cluster.admin.security.${domain}!read`) && maySeeRoles(context, roles);
}

export const maySeeRoles = (context: Context, roles: readonly GrantedRole[]): boolean =>
  maySeeSecurityRoles(context) || !roles.some(isSecurityRole);

export function requireVisible(context: Context, roles: readonly GrantedRole[]): void {
  if (!maySeeRoles(context, roles)) throw generalRefusals.forbidden([seesSecurityRoles]);
}

/** Roles that administer something, of a bucket or scope too, by their names. */
const isAdministratorRole = ({ role }: GrantedRole): boolean => /(^|_)admin(_|$)/.test(role);

/** `roles`: the account's present and future ones. */
export function requireChangeRight(context: Context, roles: readonly GrantedRole[]): void {
  if (roles.some((role) => isSecurityRole(role) || isAdministratorRole(role)))
    requirePermission(context, grantsSecurityRoles);
}

export const requireDomainRight = (domain: Domain, context: Context): void =>
  requirePermission(context, `cluster.admin.security.${domain}!write`);

function requirePermission(context: Context, permission: string): void {
  if (!context.may(permission)) throw generalRefusals.forbidden([permission]);
}

export function permissionOf(text: string): Permission {
  const permission = parsePermission(text);
  assert(permission, `malformed permission ${text}`);
  return permission;
}
