// The current identities: who may log in, with which roles, and their rights in the data service. Roles of
// users and groups on a deleted bucket, scope or collection do not count.
import type { IdentitySource, KnownIdentity } from '#auth/authenticator.ts';
import { type BucketTarget, compileGrants, fullGrants } from '#auth/grants.ts';
import type { UserSpec } from '#auth/privileges.ts';
import type { GrantedRole } from '#auth/role-rules.ts';
import type { Changing } from '../config/until.ts';
import { type RoleTargets, stillThere } from './role-targets.ts';
import type { StoredCredentials, StoredExternal, StoredUser, UsersStore } from './users.store.ts';

const administratorRoles: readonly GrantedRole[] = [{ role: 'admin', names: [] }];

/** A role and its source. */
export interface OriginatedRole {
  readonly role: GrantedRole;
  /** Null for the user's own, else the name of a group. */
  readonly origins: readonly (string | null)[];
}

export class Identities implements IdentitySource, Changing {
  readonly #store: UsersStore;
  readonly #targets: RoleTargets;
  readonly #known = new Map<string, KnownIdentity | null>();
  readonly #subscriptions: { stop(): void }[];

  constructor(store: UsersStore, targets: RoleTargets) {
    this.#store = store;
    this.#targets = targets;
    this.#subscriptions = [store, targets].map((source) => source.onChange(() => this.#known.clear()));
  }

  stop(): void {
    for (const subscription of this.#subscriptions) subscription.stop();
  }

  onChange(listener: () => void): { stop(): void } {
    return this.#store.onChange(listener);
  }

  provisioned(): boolean {
    return this.#store.state.administrator !== null;
  }

  find(name: string): KnownIdentity | null {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const found = this.#look(name);
    // Unknown names are not cached: their number is unlimited.
    if (found) this.#known.set(name, found);
    return found;
  }

  /** A user of a domain: a local and an external user can have the same name. */
  findIn(name: string, domain: string): KnownIdentity | null {
    if (domain === 'external') return this.#external(name);
    const found = this.find(name);
    return found?.identity.domain === domain ? found : null;
  }

  /** Names of all users, and the full names that they were given. */
  allNames(): string[] {
    const { administrator, users, external = [] } = this.#store.state;
    const names = [...users, ...external].flatMap(({ id, name }) => [id, name ?? '']);
    return [...(administrator ? [administrator.id] : []), ...names];
  }

  rolesOf(user: Pick<StoredUser, 'roles' | 'groups'>): OriginatedRole[] {
    const sources: [string | null, StoredUser['roles']][] = [[null, user.roles]];
    for (const id of user.groups) {
      const group = this.#store.state.groups.find((one) => one.id === id);
      if (group) sources.push([id, group.roles]);
    }
    const byText = new Map<string, { role: GrantedRole; origins: (string | null)[] }>();
    for (const [origin, roles] of sources) {
      for (const role of roles.filter((one) => stillThere(one, this.#targets))) {
        const key = JSON.stringify([role.role, role.names]);
        const entry = byText.get(key) ?? { role: { role: role.role, names: role.names }, origins: [] };
        entry.origins.push(origin);
        byText.set(key, entry);
      }
    }
    return [...byText.values()];
  }

  /** All accounts of the data port. Ids of scopes and collections come from the manifests it will run, by bucket name. */
  specs(manifests: ReadonlyMap<string, Pick<BucketTarget, 'scopes'>>): UserSpec[] {
    const { administrator, users, external = [] } = this.#store.state;
    const target = (name: string) => {
      const manifest = manifests.get(name);
      return manifest ? { uuid: '', scopes: manifest.scopes } : null;
    };
    const specs = users
      .filter((user) => user.id !== administrator?.id)
      .map((user) => {
        const roles = this.rolesOf(user).map((one) => one.role);
        return { ...loginOf(user), grants: compileGrants(roles, target) };
      });
    // A local user takes precedence over an external one of the same name.
    const taken = new Set([administrator?.id, ...users.map(({ id }) => id)]);
    const externals = external
      .filter(({ id }) => !taken.has(id))
      .map((user) => {
        const roles = this.rolesOf(user).map((one) => one.role);
        const login = { name: user.id, credentialId: externalCredential(user), scram: null };
        return { ...login, isExternal: true, grants: compileGrants(roles, target) };
      });
    const all = [...specs, ...externals];
    return administrator ? [{ ...loginOf(administrator), grants: fullGrants() }, ...all] : all;
  }

  #look(name: string): KnownIdentity | null {
    const { administrator, users } = this.#store.state;
    if (administrator?.id === name) return known(administrator, 'admin', administratorRoles);
    const user = users.find((one) => one.id === name);
    return user
      ? known(
          user,
          'local',
          this.rolesOf(user).map((one) => one.role),
        )
      : this.#external(name);
  }

  #external(name: string): KnownIdentity | null {
    const user = this.#store.state.external?.find((one) => one.id === name);
    if (!user) return null;
    return {
      identity: { name, domain: 'external' },
      password: null,
      credentialId: externalCredential(user),
      roles: this.rolesOf(user).map((one) => one.role),
    };
  }
}

/** Identifies this account only, not a later one of the same name. */
const externalCredential = ({ uuid }: StoredExternal): string => `external ${uuid}`;

const loginOf = (stored: StoredCredentials) => ({
  name: stored.id,
  credentialId: stored.credentialId,
  scram: { ...stored.password.scram },
});

const known = (
  stored: StoredCredentials,
  domain: 'admin' | 'local',
  roles: readonly GrantedRole[],
): KnownIdentity => ({
  identity: { name: stored.id, domain },
  password: stored.password,
  credentialId: stored.credentialId,
  roles,
});
