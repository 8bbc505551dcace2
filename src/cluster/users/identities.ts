// The current identities: who may log in, with which roles, and their rights in the data service. Roles for a deleted bucket, scope or
// collection do not apply.
import type { IdentitySource, KnownIdentity } from '#auth/authenticator.ts';
import { type BucketTarget, compileGrants, fullGrants } from '#auth/grants.ts';
import type { DataUserLimits, UserSpec } from '#auth/privileges.ts';
import type { GrantedRole } from '#auth/role-rules.ts';
import type { ServiceLimits, UserLimits } from '#auth/user-limits.ts';
import type { ChangeNotifier } from '../config/until.ts';
import { type RoleTargets, targetsExist } from './role-targets.ts';
import type {
  StoredCredentials,
  StoredExternal,
  StoredRole,
  StoredUser,
  UsersState,
  UsersStore,
} from './users.store.ts';

const administratorRoles: readonly GrantedRole[] = [{ role: 'admin', names: [] }];

/** Users that logged in through an LDAP server, with the distinguished names of their groups there. */
export interface DirectoryUsers extends ChangeNotifier {
  /** Null: the user has not logged in, or too long ago. */
  groupsOf(name: string): readonly string[] | null;
  names(): Iterable<string>;
  /** Whether users without a stored account may log in. */
  readonly admitsUnknown: boolean;
}

/** Whether limits of users are enforced. */
export interface LimitsEnforcement extends ChangeNotifier {
  readonly isOn: boolean;
}

/** A role of a user, and who has given it: an administrator directly, or groups. */
export interface RoleWithOrigins {
  readonly role: GrantedRole;
  /** Null: the user was given the role directly; else the name of a group. */
  readonly origins: readonly (string | null)[];
}

export class Identities implements IdentitySource, ChangeNotifier {
  readonly #store: UsersStore;
  readonly #targets: RoleTargets;
  readonly #directory: DirectoryUsers;
  readonly #enforcement: LimitsEnforcement;
  readonly #cached = new Map<string, KnownIdentity | null>();
  readonly #subscriptions: { stop(): void }[];

  constructor(
    store: UsersStore,
    targets: RoleTargets,
    directory: DirectoryUsers = noDirectory,
    enforcement: LimitsEnforcement = notEnforced,
  ) {
    this.#enforcement = enforcement;
    this.#store = store;
    this.#directory = directory;
    this.#targets = targets;
    this.#subscriptions = [store, targets, directory, enforcement].map((source) =>
      source.onChange(() => this.#cached.clear()),
    );
  }

  stop(): void {
    for (const subscription of this.#subscriptions) subscription.stop();
  }

  onChange(listener: () => void): { stop(): void } {
    const subscriptions = [this.#store, this.#directory, this.#enforcement].map((source) =>
      source.onChange(listener),
    );
    return {
      stop() {
        for (const subscription of subscriptions) subscription.stop();
      },
    };
  }

  /** True if users of the LDAP server may log in without a stored account. */
  get admitsUnknown(): boolean {
    return this.#directory.admitsUnknown;
  }

  isProvisioned(): boolean {
    return this.#store.state.administrator !== null;
  }

  find(name: string): KnownIdentity | null {
    const cached = this.#cached.get(name);
    if (cached !== undefined) return cached;
    const found = this.#read(name);
    // Unknown names are not cached: their number is unlimited.
    if (found) this.#cached.set(name, found);
    return found;
  }

  /** A user of a domain: a local and an external user can have the same name. */
  findIn(name: string, domain: string): KnownIdentity | null {
    if (domain === 'external') return this.#external(name);
    const found = this.find(name);
    return found?.identity.domain === domain ? found : null;
  }

  /** Login names of all users, and their full names; an empty text for none. */
  allNames(): string[] {
    const { administrator, users, external = [] } = this.#store.state;
    const names = [...users, ...external].flatMap(({ id, name }) => [id, name ?? '']);
    return [...(administrator ? [administrator.id] : []), ...names];
  }

  /** Groups that refer to groups of the LDAP server of an external user. */
  directoryGroups(name: string, { groups }: Pick<UsersState, 'groups'> = this.#store.state): string[] {
    const refs = new Set(this.#directory.groupsOf(name)?.map(comparable));
    if (refs.size === 0) return [];
    return groups
      .filter(({ ldapRef }) => ldapRef !== undefined && refs.has(comparable(ldapRef)))
      .map(({ id }) => id);
  }

  /** The roles whose bucket, scope and collection exist. */
  applicable(roles: readonly StoredRole[]): readonly StoredRole[] {
    return roles.filter((role) => targetsExist(role, this.#targets));
  }

  rolesOf(
    user: Pick<StoredUser, 'roles' | 'groups'>,
    directoryGroups: readonly string[] = [],
    { groups }: Pick<UsersState, 'groups'> = this.#store.state,
  ): RoleWithOrigins[] {
    const sources: [string | null, StoredUser['roles']][] = [[null, user.roles]];
    for (const id of new Set([...user.groups, ...directoryGroups])) {
      const group = groups.find((candidate) => candidate.id === id);
      if (group) sources.push([id, group.roles]);
    }
    const byText = new Map<string, { role: GrantedRole; origins: (string | null)[] }>();
    for (const [origin, roles] of sources) {
      for (const role of this.applicable(roles)) {
        const key = JSON.stringify([role.role, role.names]);
        const entry = byText.get(key) ?? { role: { role: role.role, names: role.names }, origins: [] };
        entry.origins.push(origin);
        byText.set(key, entry);
      }
    }
    return [...byText.values()].map(({ role, origins }) => ({ role, origins: origins.toSorted(byOrigin) }));
  }

  /** All accounts of the data port. `manifests`: by bucket name, those that the data service gets with the accounts; they have the ids of scopes and collections. */
  specs(manifests: ReadonlyMap<string, Pick<BucketTarget, 'scopes'>>): UserSpec[] {
    const { administrator, users, external = [] } = this.#store.state;
    const target = (name: string) => {
      const manifest = manifests.get(name);
      return manifest ? { uuid: '', scopes: manifest.scopes } : null;
    };
    const specs = users
      .filter((user) => user.id !== administrator?.id)
      .map((user) => {
        const roles = this.rolesOf(user).map((assigned) => assigned.role);
        const limits = this.#enforcement.isOn ? dataLimits(user.limits?.kv) : null;
        return { ...loginOf(user), grants: compileGrants(roles, target), ...(limits && { limits }) };
      });
    // A local user takes precedence over an external one of the same name.
    const usedNames = new Set([administrator?.id, ...users.map(({ id }) => id)]);
    const stored = new Set(external.map(({ id }) => id));
    const unstoredUsers = [...this.#directory.names()]
      .filter((name) => !stored.has(name) && this.#hasDirectoryGroup(name))
      .map(unstoredUser);
    const externals = [...external, ...unstoredUsers]
      .filter(({ id }) => !usedNames.has(id))
      .map((user) => {
        const roles = this.rolesOf(user, this.directoryGroups(user.id)).map((assigned) => assigned.role);
        const login = { name: user.id, credentialId: externalCredential(user), scram: null };
        return { ...login, isExternal: true, grants: compileGrants(roles, target) };
      });
    const all = [...specs, ...externals];
    return administrator ? [{ ...loginOf(administrator), grants: fullGrants() }, ...all] : all;
  }

  #read(name: string): KnownIdentity | null {
    const { administrator, users } = this.#store.state;
    if (administrator?.id === name) return knownIdentity(administrator, 'admin', administratorRoles);
    const user = users.find((candidate) => candidate.id === name);
    return user
      ? knownIdentity(
          user,
          'local',
          this.rolesOf(user).map((assigned) => assigned.role),
          this.#enforcement.isOn ? user.limits : undefined,
        )
      : this.#external(name);
  }

  /** True if a group here refers to one of the user's LDAP groups: otherwise a user without a stored account has no identity. */
  #hasDirectoryGroup(name: string): boolean {
    return this.directoryGroups(name).length > 0;
  }

  #external(name: string): KnownIdentity | null {
    const stored = this.#store.state.external?.find((candidate) => candidate.id === name);
    const user = stored ?? (this.#hasDirectoryGroup(name) ? unstoredUser(name) : null);
    if (!user) return null;
    return {
      identity: { name, domain: 'external' },
      password: null,
      credentialId: externalCredential(user),
      roles: this.rolesOf(user, this.directoryGroups(name)).map((assigned) => assigned.role),
    };
  }
}

const notEnforced: LimitsEnforcement = { isOn: false, onChange: () => ({ stop() {} }) };

const dataLimits = (limits: ServiceLimits | undefined): DataUserLimits | null =>
  limits === undefined
    ? null
    : {
        connections: limits['num_connections'] ?? Infinity,
        operations: limits['num_ops_per_min'] ?? Infinity,
        ingressMib: limits['ingress_mib_per_min'] ?? Infinity,
        egressMib: limits['egress_mib_per_min'] ?? Infinity,
      };

const noDirectory: DirectoryUsers = {
  groupsOf: () => null,
  names: () => [],
  admitsUnknown: false,
  onChange: () => ({ stop() {} }),
};

/** A user of the LDAP server who is not stored here. */
const unstoredUser = (id: string): StoredExternal => ({ id, uuid: '', name: null, roles: [], groups: [] });

/** Distinguished names are compared without case and without spaces around commas. */
const comparable = (dn: string): string => dn.toLowerCase().replaceAll(/ *, */g, ',');

/** Identifies this account only, not a later one of the same name. */
const externalCredential = ({ uuid }: StoredExternal): string => `external ${uuid}`;

const loginOf = (stored: StoredCredentials) => ({
  name: stored.id,
  credentialId: stored.credentialId,
  scram: { ...stored.password.scram },
});

const knownIdentity = (
  stored: StoredCredentials,
  domain: 'admin' | 'local',
  roles: readonly GrantedRole[],
  limits?: UserLimits,
): KnownIdentity => ({
  identity: { name: stored.id, domain },
  password: stored.password,
  credentialId: stored.credentialId,
  roles,
  ...(limits && { limits }),
});

/** Groups by name, then the user. SDKs compare users with others in this order. */
const byOrigin = (a: string | null, b: string | null): number => {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  return a < b ? -1 : 1;
};
