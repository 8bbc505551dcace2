// Rules of users, groups and the administrator: what may be stored. The routes check who may call.
import {
  defaultPasswordPolicy,
  nameProblem,
  type PasswordPolicy,
  passwordProblem,
} from '#auth/identity-rules.ts';
import type { Kdf } from '#auth/kdf.ts';
import { passwordMatches, type StoredPassword, storePassword } from '#auth/passwords.ts';
import { parseRoles } from '#auth/role-names.ts';
import { rolesById } from '#auth/roles/index.ts';
import type { UserLimits } from '#auth/user-limits.ts';
import { fieldText } from '#contract/field-text.ts';
import type { Form } from '#contract/route.ts';
import type { Clock } from '#ports/clock.ts';
import { hexId, type Random } from '#ports/random.ts';
import type { Edition } from '../config/cluster-state.ts';
import { nodeRefusals } from '../refusals/nodes.refusals.ts';
import { userRefusals } from '../refusals/users.refusals.ts';
import { requireTag } from './holder-tag.ts';
import type { Identities } from './identities.ts';
import { type RoleTargets, resolveRoles } from './role-targets.ts';
import { readText, readUserLimits, throwIfAny, unsupported } from './user-form.ts';
import {
  loginOf,
  type PermitChange,
  type StoredCredentials,
  type StoredExternal,
  type StoredGroup,
  type StoredRole,
  type StoredUser,
  type UsersState,
  type UsersStore,
  withEntry,
  withoutEntry,
} from './users.store.ts';

export interface UsersDeps {
  readonly store: UsersStore;
  readonly identities: Identities;
  readonly targets: RoleTargets;
  readonly kdf: Kdf;
  readonly clock: Clock;
  readonly random: Random;
  readonly edition: Edition;
  /** The current policy; the default one until the setting is changed. */
  readonly passwordPolicy?: () => PasswordPolicy;
  /** Resolves once the data service applies what was stored, or after a timeout. */
  readonly applied?: () => Promise<unknown>;
  /** Called with every password that is set here: the first login with it then need not compute a hash. */
  readonly passwordSet?: (name: string, credentialId: string, password: string) => void;
}

/** Limits that keep users and groups small, since they are one value of the configuration store. */
const sizeLimits = { users: 5_000, communityUsers: 20, groups: 1_000, rolesEach: 1_000 };

export interface UserChange {
  readonly name: string | null;
  readonly password: string | null;
  /** Null removes the limits; undefined keeps them. */
  readonly limits?: UserLimits | null;
  readonly roles: readonly StoredRole[];
  readonly groups: readonly string[];
}

export interface GroupChange {
  readonly description: string | null;
  readonly ldapRef?: string;
  readonly roles: readonly StoredRole[];
}

/** What must hold when a change is stored: a check before that may have seen an earlier state. */
export interface ChangeConditions {
  /** The entity tag that the stored user or group must have; absent: any. */
  readonly tag?: string | undefined;
  readonly permit?: PermitChange;
}

export class UsersService {
  readonly #deps: UsersDeps;

  constructor(deps: UsersDeps) {
    this.#deps = deps;
  }

  /** Null until one is set. */
  administratorName(): string | null {
    return this.state.administrator?.id ?? null;
  }

  /** Problems of an administrator's name and password, by field. */
  administratorProblems(name: string, password: string): Record<string, string> {
    const problems: Record<string, string> = {};
    const [nameReason, passwordReason] = [
      nameProblem(name, 'Username'),
      passwordProblem(password, this.#policy),
    ];
    if (nameReason) problems['username'] = nameReason;
    if (passwordReason) problems['password'] = passwordReason;
    return problems;
  }

  /**
   * Sets or replaces the administrator; from then on requests need credentials. The same credentials again change nothing. With `first` an
   * administrator is set only if there is none.
   */
  async setAdministrator(
    name: string,
    password: string,
    which: 'first' | 'any' = 'any',
    permit?: PermitChange,
  ): Promise<void> {
    const problems = this.administratorProblems(name, password);
    throwIfAny(problems);
    const current = this.state.administrator;
    const credentials = await this.#credentials(name, password, current?.id === name ? current : null);
    await this.#deps.store.change((state) => {
      if (which === 'first' && state.administrator !== null) throw nodeRefusals.alreadyProvisioned();
      permit?.(state);
      return { ...state, administrator: credentials };
    });
    // A first start need not wait: there is no earlier password that the data port could still accept.
    if (current) await this.#deps.applied?.();
    this.#passwordSet(credentials, password);
  }

  user(id: string): StoredUser | undefined {
    return this.state.users.find((user) => user.id === id);
  }

  group(id: string): StoredGroup | undefined {
    return this.state.groups.find((group) => group.id === id);
  }

  users(): readonly StoredUser[] {
    return this.state.users;
  }

  externalUser(id: string): StoredExternal | undefined {
    return this.externalUsers().find((user) => user.id === id);
  }

  externalUsers(): readonly StoredExternal[] {
    return this.state.external ?? [];
  }

  /** Reads the form of an external user, whose password the node does not store. */
  readExternal(id: string, form: Form): Omit<UserChange, 'password' | 'limits'> {
    this.#checkUserName(id);
    const problems: Record<string, string> = unsupported(form, ['name', 'roles', 'groups']);
    const roles = this.#readRoles(form['roles'] ?? '', problems);
    const groups = this.#readGroups(form['groups'] ?? '', problems);
    const name = readText(form, 'name', problems);
    throwIfAny(problems);
    return { name, roles, groups };
  }

  async putExternal(
    id: string,
    change: Omit<UserChange, 'password' | 'limits'>,
    { tag, permit }: ChangeConditions = {},
  ): Promise<void> {
    await this.#change(permit, (state) => {
      const { external = [] } = state;
      const present = external.find((user) => user.id === id);
      requireTag(tag, present);
      if (!present) this.#checkRoomForUser(state);
      // A group may have been deleted since the form was read.
      const missing = missingGroups(change.groups, state);
      if (missing) throw userRefusals.unknownGroups({ problem: missing });
      const uuid = present?.uuid ?? this.#deps.random.uuid();
      return { ...state, external: withEntry(external, { ...present, id, uuid, ...change }) };
    });
  }

  async deleteExternal(id: string, permit?: PermitChange): Promise<void> {
    await this.#change(permit, (state) => {
      const { external = [] } = state;
      if (!external.some((user) => user.id === id)) throw userRefusals.userNotFound();
      return { ...state, external: withoutEntry(external, id) };
    });
  }

  groups(): readonly StoredGroup[] {
    return this.state.groups;
  }

  /** Reads a user's form; reports all problems at once. */
  readUser(id: string, form: Form): UserChange {
    this.#checkUserName(id);
    const problems: Record<string, string> = unsupported(form, [
      'name',
      'password',
      'roles',
      'groups',
      'limits',
    ]);
    const limits = readUserLimits(form, problems);
    const roles = this.#readRoles(form['roles'] ?? '', problems);
    const groups = this.#readGroups(form['groups'] ?? '', problems);
    const password = form['password'] ?? null;
    const passwordReason = password === null ? null : passwordProblem(password, this.#policy);
    if (passwordReason) problems['password'] = passwordReason;
    if (password === null && !this.user(id)) problems['password'] = 'Password is required for new user.';
    const name = readText(form, 'name', problems);
    throwIfAny(problems);
    return { name, password, roles, groups, ...(limits !== undefined && { limits }) };
  }

  async putUser(id: string, change: UserChange, { tag, permit }: ChangeConditions = {}): Promise<void> {
    const existing = this.user(id);
    const credentials =
      change.password === null ? null : await this.#credentials(id, change.password, existing ?? null);
    await this.#change(permit, (state) => {
      const present = state.users.find((user) => user.id === id);
      requireTag(tag, present);
      if (!present) this.#checkRoomForUser(state);
      // The state may have changed while the password was hashed.
      if (state.administrator?.id === id) throw userRefusals.administratorsName();
      const missing = missingGroups(change.groups, state);
      if (missing) throw userRefusals.unknownGroups({ problem: missing });
      const login = credentials ?? present;
      if (!login) throw userRefusals.passwordRequired();
      const { password: _password, limits: sent, ...rest } = change;
      const limits = sent === undefined ? present?.limits : sent;
      const uuid = present?.uuid ?? this.#deps.random.uuid();
      const { limits: _limits, ...kept } = present ?? {};
      return {
        ...state,
        users: withEntry(state.users, {
          ...kept,
          ...loginOf(login),
          ...rest,
          uuid,
          ...(limits && { limits }),
        }),
      };
    });
    if (credentials) this.#passwordSet(credentials, change.password as string);
  }

  readPassword(form: Form): string {
    const problems: Record<string, string> = unsupported(form, ['password']);
    const password = form['password'];
    const problem = password === undefined ? fieldText.required : passwordProblem(password, this.#policy);
    if (problem) problems['password'] = problem;
    throwIfAny(problems);
    return password as string;
  }

  async changePassword(id: string, password: string, permit?: PermitChange): Promise<void> {
    const existing = this.user(id);
    if (!existing) throw userRefusals.userNotFound();
    const credentials = await this.#credentials(id, password, existing);
    await this.#change(permit, (state) => {
      const present = state.users.find((user) => user.id === id);
      // Another account of this name may have been made since.
      if (present?.uuid !== existing.uuid) throw userRefusals.userNotFound();
      return { ...state, users: withEntry(state.users, { ...present, ...credentials }) };
    });
    this.#passwordSet(credentials, password);
  }

  async deleteUser(id: string, permit?: PermitChange): Promise<void> {
    await this.#change(permit, (state) => {
      if (!state.users.some((user) => user.id === id)) throw userRefusals.userNotFound();
      return { ...state, users: withoutEntry(state.users, id) };
    });
  }

  readGroup(id: string, form: Form): GroupChange {
    const nameReason = nameProblem(id, 'Group name');
    if (nameReason) throw userRefusals.invalidName({ problem: nameReason });
    const problems: Record<string, string> = unsupported(form, ['description', 'roles', 'ldap_group_ref']);
    const roles = this.#readRoles(form['roles'] ?? '', problems);
    if (form['roles'] === undefined) problems['roles'] = fieldText.required;
    const ldapRef = readText(form, 'ldap_group_ref', problems) ?? '';
    if (ldapRef !== '' && !distinguishedName.test(ldapRef))
      problems['ldap_group_ref'] = 'Should be valid LDAP distinguished name';
    const description = readText(form, 'description', problems);
    throwIfAny(problems);
    return { description, roles, ...(ldapRef !== '' && { ldapRef }) };
  }

  async putGroup(id: string, change: GroupChange, { tag, permit }: ChangeConditions = {}): Promise<void> {
    await this.#change(permit, (state) => {
      const present = state.groups.find((group) => group.id === id);
      requireTag(tag, present);
      if (present === undefined && state.groups.length >= sizeLimits.groups) {
        throw userRefusals.tooManyGroups({ limit: sizeLimits.groups });
      }
      const { ldapRef: _ldapRef, ...kept } = present ?? {};
      return { ...state, groups: withEntry(state.groups, { ...kept, id, ...change }) };
    });
  }

  async deleteGroup(id: string, permit?: PermitChange): Promise<void> {
    await this.#change(permit, (state) => {
      if (!state.groups.some((group) => group.id === id)) throw userRefusals.groupNotFound();
      const without = <T extends Pick<StoredUser, 'groups'>>(user: T): T =>
        user.groups.includes(id)
          ? { ...user, groups: user.groups.filter((groupId) => groupId !== id) }
          : user;
      const external = (state.external ?? []).map(without);
      return { ...state, users: state.users.map(without), external, groups: withoutEntry(state.groups, id) };
    });
  }

  /** Waits for the data service, so that the data port refuses a deleted account once the answer is sent. */
  async #change(permit: PermitChange | undefined, change: (state: UsersState) => UsersState): Promise<void> {
    await this.#deps.store.change((state) => {
      permit?.(state);
      return change(state);
    });
    await this.#deps.applied?.();
  }

  /** As far as this node knows: only a compare-and-set proves that a state is the newest. */
  get state(): UsersState {
    return this.#deps.store.state;
  }

  get #policy(): PasswordPolicy {
    return this.#deps.passwordPolicy?.() ?? defaultPasswordPolicy;
  }

  /** Keeps the stored credentials if the password is the same: sessions stay valid. */
  async #credentials(
    id: string,
    password: string,
    existing: StoredCredentials | null,
  ): Promise<StoredCredentials> {
    const { kdf, clock, random } = this.#deps;
    if (existing && (await passwordMatches(existing.password, password, kdf))) return loginOf(existing);
    const stored: StoredPassword = await storePassword(password, kdf, random);
    return { id, password: stored, credentialId: hexId(random), passwordChangedMs: clock.wallMs() };
  }

  /** Not with the id of the credentials that are stored by now: those may have another password. */
  #passwordSet({ id, credentialId }: StoredCredentials, password: string): void {
    this.#deps.passwordSet?.(id, credentialId, password);
  }

  #checkUserName(id: string): void {
    const problem = nameProblem(id, 'Username');
    if (problem) throw userRefusals.invalidName({ problem });
    if (id === this.administratorName()) throw userRefusals.administratorsName();
  }

  #checkRoomForUser(state: UsersState): void {
    if (this.#deps.edition === 'community' && usersIn(state) >= sizeLimits.communityUsers) {
      throw userRefusals.tooManyCommunityUsers();
    }
    if (usersIn(state) < sizeLimits.users) return;
    throw userRefusals.tooManyUsers({ limit: sizeLimits.users });
  }

  #readRoles(text: string, problems: Record<string, string>): StoredRole[] {
    const parsed = parseRoles(text);
    const { roles, invalid } = resolveRoles(parsed.roles, this.#deps.targets);
    const hidden = roles.filter((role) => !this.#isVisible(role.role)).map((role) => role.role);
    const all = [...parsed.invalid, ...invalid, ...hidden];
    if (all.length > 0) problems['roles'] = badRoles(all);
    else if (roles.length > sizeLimits.rolesEach)
      problems['roles'] = `At most ${sizeLimits.rolesEach} roles can be given.`;
    return roles;
  }

  #isVisible(role: string): boolean {
    return this.#deps.edition === 'enterprise' || rolesById.get(role)?.community === true;
  }

  #readGroups(text: string, problems: Record<string, string>): string[] {
    const groups = [...new Set(text.split(',').map((group) => group.trim()))].filter((group) => group !== '');
    const missing = missingGroups(groups, this.state);
    if (groups.length > 0 && this.#deps.edition === 'community') {
      problems['groups'] = 'User groups require enterprise edition';
    } else if (missing) problems['groups'] = missing;
    return groups;
  }
}

/** `name=value`, separated by commas; commas in values are escaped. */
const distinguishedName = /^[\w.-]+ *=(?:\\.|[^\\,])+(?:, *[\w.-]+ *=(?:\\.|[^\\,])+)*$/;

function missingGroups(wanted: readonly string[], { groups }: UsersState): string | null {
  const missing = wanted.filter((id) => !groups.some((group) => group.id === id));
  return missing.length > 0 ? `Groups do not exist: ${missing.join(',')}` : null;
}

const usersIn = ({ users, external = [] }: UsersState): number => users.length + external.length;

const badRoles = (roles: readonly string[]) =>
  'Cannot assign roles to user because the following roles are unknown, malformed or role parameters are undefined: ' +
  `[${roles.join(',')}]`;
