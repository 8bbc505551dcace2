// Handlers for the identity, permissions and password of the caller, and for the list of roles.
import { parsePermission } from '#auth/permission.ts';
import { allows, everyName, type GrantedRole, namesOfLevel } from '#auth/role-rules.ts';
import type { RoleDefinition } from '#auth/roles/definition.ts';
import { roleCatalog } from '#auth/roles/index.ts';
import { generalRefusals } from '#contract/general.refusals.ts';
import { type BoundRoute, bind, type Context, type Reply, reply } from '#contract/route.ts';
import type { Clock } from '#ports/clock.ts';
import { userRefusals } from '../refusals/users.refusals.ts';
import { checkedPermissions } from './checked-permissions.ts';
import { changeOwnPassword } from './own-password.ts';
import type { RoleTargets } from './role-targets.ts';
import { isSecurityRole, maySeeSecurityRoles, permissionOf } from './users.access.ts';
import * as contract from './users.contract.ts';
import type { UsersRoutesDeps } from './users.routes.ts';

interface IdentityRoutesDeps extends UsersRoutesDeps {
  readonly targets: RoleTargets;
  readonly clock: Clock;
}

export function identityRoutes(deps: IdentityRoutesDeps): BoundRoute[] {
  const { service, edition, clock } = deps;
  return [
    bind(contract.ListRoles, ({ query }, context) => listRoles(deps, query.permission, context)),
    bind(contract.WhoAmI, (_, context) => reply.json(whoAmI(deps, context))),
    bind(contract.CheckPermissions, async ({ body }, context) =>
      reply.json(await checkedPermissions(permissionsIn(body.toString('utf8')), context, clock)),
    ),
    bind(contract.ChangeOwnPassword, async ({ body }, { identity }) => {
      if (edition !== 'enterprise') throw generalRefusals.enterpriseOnly();
      const password = service.readPassword(body);
      if (identity.domain === 'external') throw userRefusals.passwordOfExternalUser();
      await changeOwnPassword(service, identity, password);
      return reply.empty();
    }),
  ];
}

function listRoles(
  { edition, targets }: { edition: string; targets: RoleTargets },
  permission: string | undefined,
  context: Context,
): Reply {
  const listed = roleCatalog
    .filter((definition) => edition === 'enterprise' || definition.community)
    .flatMap((definition) =>
      rolesGranting(definition, permission, targets).map((role) => [definition, role] as const),
    )
    .filter(([, role]) => maySeeSecurityRoles(context) || !isSecurityRole(role));
  return reply.json(listed.map(([definition, role]) => contract.listedRole(role, definition)));
}

/**
 * The role without names: for every bucket, scope and collection. With a permission (`text`), also the role for the bucket that it names, the
 * role for the scope and the role for the collection; only roles that grant the permission are listed.
 */
function rolesGranting(
  definition: RoleDefinition,
  text: string | undefined,
  targets: RoleTargets,
): GrantedRole[] {
  const count = namesOfLevel[definition.level];
  const any: GrantedRole = { role: definition.id, names: Array.from({ length: count }, () => null) };
  if (text === undefined) return [any];
  const permission = permissionOf(text);
  const named = (permission.object[0]?.names ?? []).filter((name) => name !== null && name !== everyName);
  const candidates = [any];
  if (named.length > 0 && targets.bucket(named[0] as string)) {
    for (let depth = 1; depth <= Math.min(count, named.length); depth++) {
      candidates.push({
        ...any,
        names: any.names.map((_, index) => (index < depth ? (named[index] as string) : null)),
      });
    }
  }
  return candidates.filter((role) => allows([role], permission));
}

function whoAmI({ service, identities }: UsersRoutesDeps, context: Context) {
  const { name: id, domain } = context.identity;
  if (domain === 'anonymous') {
    // Before there is an administrator, every caller may use the routes that are open then, and is shown as an administrator.
    return { id, domain, roles: identities.isProvisioned() ? [] : [{ role: 'admin' }] };
  }
  const roles = identities.findIn(id, domain)?.roles.map(contract.roleRecord) ?? [];
  const user: contract.AnyUser | undefined =
    domain === 'external' ? service.externalUser(id) : domain === 'local' ? service.user(id) : undefined;
  if (!user) return { id, domain, roles };
  return {
    id,
    domain,
    roles,
    ...(user.name !== null && { name: user.name }),
    uuid: user.uuid,
    ...(user.passwordChangedMs !== undefined && {
      password_change_date: new Date(user.passwordChangedMs).toISOString(),
    }),
  };
}

function permissionsIn(text: string): string[] {
  if (text === '') throw userRefusals.noPermissions();
  const permissions = text.split(',').map((permission) => permission.trim());
  const malformed = permissions.filter((permission) => parsePermission(permission) === null);
  if (malformed.length > 0) throw userRefusals.malformedPermissions({ permissions: malformed.join(',') });
  return permissions;
}
