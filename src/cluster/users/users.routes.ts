// Users and groups over REST: access checks, and the service's answers.
import { roleText } from '#auth/role-names.ts';
import { allows, type GrantedRole } from '#auth/role-rules.ts';
import { generalRefusals } from '#contract/general.refusals.ts';
import { type BoundRoute, bind, type Context, type Form, type Reply, reply } from '#contract/route.ts';
import type { Edition } from '../config/cluster-state.ts';
import { userRefusals } from '../refusals/users.refusals.ts';
import { requireTag, tagOf } from './holder-tag.ts';
import type { Identities } from './identities.ts';
import { pageOf } from './page.ts';
import {
  type Domain,
  maySeeRoles,
  maySeeUser,
  permissionOf,
  requireChangeRight,
  requireDomainRight,
  requireVisible,
} from './users.access.ts';
import * as contract from './users.contract.ts';
import type { GroupChange, UsersService } from './users.service.ts';
import type { StoredGroup, UsersState } from './users.store.ts';

export interface UsersRoutesDeps {
  readonly service: UsersService;
  readonly identities: Identities;
  readonly edition: Edition;
}

export function usersRoutes(deps: UsersRoutesDeps): BoundRoute[] {
  return [...userRoutes(deps), ...groupRoutes(deps)];
}

function userRoutes(deps: UsersRoutesDeps): BoundRoute[] {
  const { service, identities } = deps;
  const rolesOf = (domain: Domain, id: string, state: UsersState): GrantedRole[] => {
    const user = userIn(domain, id, state);
    return user ? rolesIn(identities, user, state) : [];
  };
  return [
    bind(contract.ListUsers, ({ query }, context) => listUsers(deps, query, context, null)),
    bind(contract.ListUsersOfDomain, ({ params, query }, context) =>
      listUsers(deps, query, context, knownDomain(params['domain'])),
    ),
    bind(contract.ReadUser, ({ params }, context) => {
      const user = userIn(knownDomain(params['domain']), params['user'] ?? '', service.state);
      if (!user) throw userRefusals.unknownUser();
      requireVisible(context, rolesIn(identities, user));
      return reply.json(recordOf(identities, user), 200, { ETag: tagOf(user) });
    }),
    bind(contract.PutUser, async ({ params, body }, context) => {
      const [domain, id] = [knownDomain(params['domain']), params['user'] ?? ''];
      const local = domain === 'local' ? service.readUser(id, body) : null;
      const change = local ?? externalChange(deps, id, body);
      const permit = (state: UsersState): void => {
        const joined = state.groups.filter((group) => change.groups.includes(group.id));
        const groupRoles = joined.flatMap(({ roles }) => identities.applicable(roles));
        requireChangeRight(context, [...rolesOf(domain, id, state), ...change.roles, ...groupRoles]);
      };
      permit(service.state);
      requireDomainRight(domain, context);
      const conditions = { tag: tagIn(context), permit };
      if (local) await service.putUser(id, local, conditions);
      else await service.putExternal(id, change, conditions);
      return reply.json('');
    }),
    bind(contract.ChangeUserPassword, async ({ params, body }, context) => {
      const id = params['user'] ?? '';
      const permit = (state: UsersState) => requireChangeRight(context, rolesOf('local', id, state));
      permit(service.state);
      requireDomainRight('local', context);
      await service.changePassword(id, service.readPassword(body), permit);
      return reply.empty();
    }),
    bind(contract.DeleteUser, async ({ params }, context) => {
      const [domain, id] = [knownDomain(params['domain']), params['user'] ?? ''];
      const permit = (state: UsersState) => requireChangeRight(context, rolesOf(domain, id, state));
      permit(service.state);
      requireDomainRight(domain, context);
      const permitTagged = (state: UsersState): void => {
        permit(state);
        requireTag(tagIn(context), userIn(domain, id, state));
      };
      if (domain === 'local') await service.deleteUser(id, permitTagged);
      else await service.deleteExternal(id, permitTagged);
      return reply.json('');
    }),
  ];
}

function userIn(domain: Domain, id: string, state: UsersState): contract.AnyUser | undefined {
  const users: readonly contract.AnyUser[] = domain === 'local' ? state.users : (state.external ?? []);
  return users.find((candidate) => candidate.id === id);
}

function externalChange({ service, edition }: UsersRoutesDeps, id: string, body: Form) {
  if (edition !== 'enterprise') throw generalRefusals.enterpriseOnly();
  return service.readExternal(id, body);
}

function groupRoutes({ service, identities, edition }: UsersRoutesDeps): BoundRoute[] {
  const requireEnterprise = () => {
    if (edition !== 'enterprise') throw generalRefusals.enterpriseOnly();
  };
  const requireGroupRight = (context: Context, id: string, state: UsersState, change?: GroupChange): void => {
    const present = state.groups.find((group) => group.id === id);
    const presentRoles = present ? identities.applicable(present.roles) : [];
    requireChangeRight(context, [...presentRoles, ...(change?.roles ?? [])]);
    if (isOfDirectory(present) || isOfDirectory(change)) requireDomainRight('external', context);
  };
  return [
    bind(contract.ListGroups, ({ query }, context) => {
      requireEnterprise();
      return listGroups({ service, identities }, query, context);
    }),
    bind(contract.ReadGroup, ({ params }, context) => {
      requireEnterprise();
      const group = service.group(params['group'] ?? '');
      if (!group) throw userRefusals.unknownGroup();
      requireVisible(context, group.roles);
      return reply.json(groupRecordOf(identities, group), 200, { ETag: tagOf(group) });
    }),
    bind(contract.PutGroup, async ({ params, body }, context) => {
      requireEnterprise();
      const id = params['group'] ?? '';
      const change = service.readGroup(id, body);
      const permit = (state: UsersState) => requireGroupRight(context, id, state, change);
      permit(service.state);
      await service.putGroup(id, change, { tag: tagIn(context), permit });
      return reply.json('');
    }),
    bind(contract.DeleteGroup, async ({ params }, context) => {
      requireEnterprise();
      const id = params['group'] ?? '';
      const permit = (state: UsersState) => requireGroupRight(context, id, state);
      permit(service.state);
      await service.deleteGroup(id, (state) => {
        permit(state);
        requireTag(
          tagIn(context),
          state.groups.find((group) => group.id === id),
        );
      });
      return reply.json('');
    }),
  ];
}

const tagIn = ({ headers }: Context): string | undefined => {
  const sent = headers['if-match'];
  return Array.isArray(sent) ? sent.join() : sent;
};

/** Such a group gives its roles to users of the LDAP server. */
const isOfDirectory = (group: Pick<StoredGroup, 'ldapRef'> | undefined): boolean =>
  group?.ldapRef !== undefined;

const directoryGroups = (identities: Identities, user: contract.AnyUser, state?: UsersState): string[] =>
  contract.domainOf(user) === 'external' ? identities.directoryGroups(user.id, state) : [];

const rolesIn = (identities: Identities, user: contract.AnyUser, state?: UsersState): GrantedRole[] =>
  identities.rolesOf(user, directoryGroups(identities, user, state), state).map(({ role }) => role);

function recordOf(identities: Identities, user: contract.AnyUser) {
  const groups = directoryGroups(identities, user);
  return contract.userRecord(user, identities.rolesOf(user, groups), groups);
}

const groupRecordOf = (identities: Identities, group: StoredGroup) =>
  contract.groupRecord(group, identities.applicable(group.roles));

function knownDomain(domain: string | undefined): 'local' | 'external' {
  if (domain !== 'local' && domain !== 'external') throw userRefusals.unknownDomain();
  return domain;
}

function listUsers(
  { service, identities }: UsersRoutesDeps,
  query: contract.UserListQuery,
  context: Context,
  domain: 'local' | 'external' | null,
): Reply {
  const wanted = query.permission === undefined ? null : permissionOf(query.permission);
  const all: contract.AnyUser[] = [
    ...(domain === 'external' ? [] : service.users()),
    ...(domain === 'local' ? [] : service.externalUsers()),
  ];
  const users = all.filter((user) => {
    const roles = rolesIn(identities, user);
    return (
      maySeeUser(context, roles, contract.domainOf(user)) &&
      (!wanted || allows(roles, wanted)) &&
      matches(user.name, query.substr)
    );
  });
  const record = (user: contract.AnyUser) => recordOf(identities, user);
  const { pageSize } = query;
  if (pageSize === undefined) return reply.json(users.map(record));
  if (domain === null && query.startFrom !== undefined && query.startFromDomain === undefined) {
    throw userRefusals.startFromDomainRequired();
  }
  const params = { permission: query.permission, substr: query.substr, pageSize, ...sorting(query) };
  const page = pageOf(
    users,
    { ...query, pageSize },
    {
      sortKey: userSortKey(query.sortBy),
      ...(domain === null && { variant: { of: contract.domainOf, start: query.startFromDomain } }),
      link: linkOf(`/settings/rbac/users${domain === null ? '' : `/${domain}`}`, params),
      startParams: (user) => ({
        ...(domain === null && { startFromDomain: contract.domainOf(user) }),
        startFrom: user.id,
      }),
    },
  );
  return reply.json({
    total: page.total,
    links: page.links,
    skipped: page.skipped,
    users: page.items.map(record),
  });
}

/** Undefined: users are sorted by id. */
function userSortKey(by: contract.UserListQuery['sortBy']): ((user: contract.AnyUser) => string) | undefined {
  if (by === 'name') return ({ name }) => name ?? '';
  if (by === 'domain') return contract.domainOf;
  if (by === 'password_change_timestamp')
    return ({ passwordChangedMs = 0 }) => String(passwordChangedMs).padStart(16, '0');
  return undefined;
}

function listGroups(
  { service, identities }: Pick<UsersRoutesDeps, 'service' | 'identities'>,
  query: contract.GroupListQuery,
  context: Context,
): Reply {
  const recordOfGroup = (group: StoredGroup) => groupRecordOf(identities, group);
  const groups = service
    .groups()
    .filter((group) => maySeeRoles(context, group.roles) && matches(group.description, query.substr));
  const { pageSize } = query;
  if (pageSize === undefined) return reply.json(groups.map(recordOfGroup));
  const page = pageOf(
    groups,
    { ...query, pageSize },
    {
      sortKey: groupSortKey(query.sortBy),
      link: linkOf('/settings/rbac/groups', { pageSize, ...sorting(query), substr: query.substr }),
      startParams: (group) => ({ startFrom: group.id }),
    },
  );
  const records = page.items.map(recordOfGroup);
  return reply.json({ total: page.total, links: page.links, skipped: page.skipped, groups: records });
}

/** Undefined: groups are sorted by id. */
function groupSortKey(by: contract.GroupListQuery['sortBy']): ((group: StoredGroup) => string) | undefined {
  if (by === 'description') return ({ description }) => description ?? '';
  if (by === 'roles') return ({ roles }) => roles.map(roleText).join();
  if (by === 'ldap_group_ref') return ({ ldapRef }) => ldapRef ?? '';
  return undefined;
}

const sorting = (query: { sortBy: string; order: string }) => ({ sortBy: query.sortBy, order: query.order });

const matches = (text: string | null, substr: string | undefined) =>
  substr === undefined || (text ?? '').toLowerCase().includes(substr.toLowerCase());

function linkOf(path: string, params: Record<string, string | number | undefined>): string {
  const sent = Object.entries(params).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  return `${path}?${new URLSearchParams(sent)}`;
}
