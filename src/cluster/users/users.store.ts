// The key that holds the administrator, users and groups: together, so that users name only groups that exist.
import type { StoredPassword } from '#auth/passwords.ts';
import type { GrantedRole } from '#auth/role-rules.ts';
import type { UserLimits } from '#auth/user-limits.ts';
import { type ConfigStore, update } from '#replog/config-store.ts';

const usersKey = 'users';

export interface UsersState {
  readonly administrator: StoredCredentials | null;
  /** Sorted by id. */
  readonly users: readonly StoredUser[];
  /** Sorted by id; absent in older data folders. */
  readonly external?: readonly StoredExternal[];
  readonly groups: readonly StoredGroup[];
}

/** A name with its password. `credentialId` changes when the password does. */
export interface StoredCredentials {
  readonly id: string;
  readonly password: StoredPassword;
  readonly credentialId: string;
  readonly passwordChangedMs: number;
}

export interface StoredUser extends StoredCredentials {
  readonly uuid: string;
  readonly name: string | null;
  readonly roles: readonly StoredRole[];
  readonly groups: readonly string[];
  /** Enforced only while the cluster's `enforceLimits` is on. */
  readonly limits?: UserLimits;
}

/** A user whose password is stored elsewhere: an LDAP server or a certificate authenticates it. */
export type StoredExternal = Pick<StoredUser, 'id' | 'uuid' | 'name' | 'roles' | 'groups'>;

/** A role with the ids of its resources: a new bucket under an old name does not inherit the roles on the old one. */
export interface StoredRole extends GrantedRole {
  readonly ids: readonly (string | null)[];
}

export interface StoredGroup {
  readonly id: string;
  readonly description: string | null;
  /** The distinguished name of a group of the LDAP server. */
  readonly ldapRef?: string;
  readonly roles: readonly StoredRole[];
}

/** Throws if the caller may not make its change in this state. */
export type PermitChange = (state: UsersState) => void;

const noUsers: UsersState = { administrator: null, users: [], groups: [] };

/** Holds the newest state in memory for readers; writers use compare-and-set. */
export class UsersStore {
  readonly #store: ConfigStore;
  readonly #listeners = new Set<() => void>();
  #revision = 0;
  #state = noUsers;
  #watch: { stop(): void } | null = null;

  constructor(store: ConfigStore) {
    this.#store = store;
  }

  async start(): Promise<void> {
    this.#watch = await this.#store.watch(usersKey, (key, entry) => {
      if (key === usersKey && entry) this.#receive(entry.value as UsersState, entry.revision);
    });
  }

  stop(): void {
    this.#watch?.stop();
    this.#listeners.clear();
  }

  get state(): UsersState {
    return this.#state;
  }

  /** `change` may throw; then nothing is written. Its result can be read when this resolves. */
  async change(change: (state: UsersState) => UsersState): Promise<void> {
    const { value, revision } = await update(this.#store, usersKey, noUsers, change);
    this.#receive(value, revision);
  }

  onChange(listener: () => void): { stop(): void } {
    this.#listeners.add(listener);
    return { stop: () => void this.#listeners.delete(listener) };
  }

  #receive(state: UsersState, revision: number): void {
    if (revision <= this.#revision) return;
    this.#revision = revision;
    this.#state = state;
    for (const listener of [...this.#listeners]) listener();
  }
}

/** Replaces the entry with its id, or inserts it in order. */
export function withEntry<T extends { readonly id: string }>(entries: readonly T[], entry: T): T[] {
  return [...withoutEntry(entries, entry.id), entry].sort((a, b) => (a.id < b.id ? -1 : 1));
}

export const withoutEntry = <T extends { readonly id: string }>(entries: readonly T[], id: string): T[] =>
  entries.filter((entry) => entry.id !== id);

/** The fields of a stored user that a login needs. */
export const loginOf = ({
  id,
  password,
  credentialId,
  passwordChangedMs,
}: StoredCredentials): StoredCredentials => ({
  id,
  password,
  credentialId,
  passwordChangedMs,
});
