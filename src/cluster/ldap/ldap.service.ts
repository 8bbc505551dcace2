// Logins of external users: settings, the queries to the LDAP server, and a cache of successful logins and of groups.
import { createHmac } from 'node:crypto';
import type { SecretBox } from '#auth/secret-box.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { hexId, type Random } from '#ports/random.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { settingsPrefix } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { SettingsStore } from '../config/settings.store.ts';
import { WatchedKeys } from '../config/watched-keys.ts';
import type { DirectoryUsers } from '../users/identities.ts';
import type { DirectoryServer, GroupsOutcome, LoginOutcome } from './directory-server.ts';
import { checkLdap } from './ldap-form.ts';
import { defaultLdapSettings, type LdapSettings } from './ldap-settings.ts';
import { LdapUsers } from './ldap-users.ts';

const ldapSetting = 'ldap';
/** Another value each time that the caches of all nodes are cleared. */
const clearedSetting = 'ldapCleared';
const neverCleared = { id: '' };
/** The purposes for which the secrets of the settings are sealed. */
const passwordPurpose = 'ldap/bind';
const clientKeyPurpose = 'ldap/key';
/** The limit of concurrent connections, also if the settings allow more. */
const connectionsMax = 1_000;

export interface LdapDeps {
  settings: SettingsStore;
  /** The keys of the settings: a change by any node clears the caches of this one. */
  keys: Pick<WatchedKeys, 'onChange' | 'start' | 'stop'>;
  secrets: SecretBox;
  server: DirectoryServer;
  clock: Clock;
  random: Random;
  log: Log;
  /** Resolves once the data service knows the present users, or after a timeout. */
  applied: () => Promise<unknown>;
}

interface StoredLdap extends Omit<LdapSettings, 'bindPass' | 'clientTLSKey'> {
  sealedPass: string;
  sealedKey: string;
}

const { bindPass: _none, clientTLSKey: _noKey, ...defaultsWithoutSecrets } = defaultLdapSettings;
const defaultStoredLdap: StoredLdap = { ...defaultsWithoutSecrets, sealedPass: '', sealedKey: '' };

/** The logged-in users whose LDAP groups give roles, if the settings enable that. */
export const directoryUsers = ({ users }: LdapService, view: ClusterView): DirectoryUsers => ({
  groupsOf: (name) => users.groupsOf(name),
  names: () => users.names(),
  onChange: (listener) => users.onChange(listener),
  get admitsUnknown() {
    const settings = view.setting(ldapSetting, defaultStoredLdap);
    return settings.authenticationEnabled && settings.authorizationEnabled;
  },
});

export const ldapKeys = (store: ConfigStore): WatchedKeys =>
  new WatchedKeys(store, settingsPrefix + ldapSetting, () => {});

export class LdapService {
  readonly #deps: LdapDeps;
  /** Times of successful logins, by a digest of name and password. */
  readonly #accepted = new Map<string, number>();
  readonly #digestKey: Buffer;
  readonly users: LdapUsers;
  /** Running queries for groups, by generation and name: concurrent logins of one name share a query. */
  readonly #groupQueries = new Map<string, Promise<void>>();
  #connections = 0;
  /** Generation of the settings: results under older ones are not cached. */
  #generation = 0;

  constructor(deps: LdapDeps) {
    this.#deps = deps;
    this.#digestKey = deps.random.bytes(32);
    this.users = new LdapUsers({ ...deps, readSettings: () => this.read() });
    deps.keys.onChange(() => this.clearCache());
  }

  async read(): Promise<LdapSettings> {
    const stored = await this.#deps.settings.read(ldapSetting, defaultStoredLdap);
    const { sealedPass, sealedKey, ...withoutSecrets } = { ...defaultStoredLdap, ...stored };
    const bindPass = this.#opened(passwordPurpose, sealedPass);
    return { ...withoutSecrets, bindPass, clientTLSKey: this.#opened(clientKeyPurpose, sealedKey) };
  }

  /** The stored settings with these changes; refuses those that contradict each other. */
  async merged(changes: Partial<LdapSettings>): Promise<LdapSettings> {
    const settings = { ...(await this.read()), ...changes };
    checkLdap(settings);
    return settings;
  }

  /** Checks the changes without storing them; returns the stored settings. */
  async validate(changes: Partial<LdapSettings>): Promise<LdapSettings> {
    await this.merged(changes);
    return await this.read();
  }

  async change(wanted: Partial<LdapSettings>): Promise<LdapSettings> {
    await this.merged(wanted);
    const { bindPass, clientTLSKey, ...changes } = wanted;
    await this.#deps.settings.change(ldapSetting, defaultStoredLdap, {
      ...changes,
      ...(bindPass !== undefined && { sealedPass: this.#sealed(passwordPurpose, bindPass) }),
      ...(clientTLSKey !== undefined && { sealedKey: this.#sealed(clientKeyPurpose, clientTLSKey) }),
    });
    this.clearCache();
    return await this.read();
  }

  start(): Promise<void> {
    return this.#deps.keys.start();
  }

  /** Clears the caches of this node and of the others. */
  async clearAllCaches(): Promise<void> {
    const { settings, random } = this.#deps;
    this.clearCache();
    await settings.change(clearedSetting, neverCleared, { id: hexId(random) });
  }

  /** The next login queries the LDAP server again; until then, users without a stored account are unknown. */
  clearCache(): void {
    this.#accepted.clear();
    this.#generation++;
    this.users.clear();
  }

  stop(): void {
    this.#deps.keys.stop();
    this.users.stop();
  }

  /** Whether the LDAP server accepts the name with this password. */
  async verify(name: string, password: string): Promise<boolean> {
    const generation = this.#generation;
    const settings = await this.read();
    // An LDAP server treats a login without a password as anonymous and accepts it.
    if (!settings.authenticationEnabled || password === '') return false;
    const digest = createHmac('sha256', this.#digestKey)
      .update(JSON.stringify([name, password]))
      .digest('base64');
    const knownMs = this.#accepted.get(digest);
    const nowMs = this.#deps.clock.monotonicMs();
    if (knownMs !== undefined && nowMs - knownMs < settings.cacheValueLifetime) {
      await this.#cacheGroups(settings, name, generation);
      return true;
    }
    if (!this.#mayConnect(settings)) return false;
    return await this.#connected(async () => {
      const { kind } = await this.#login(settings, name, password);
      if (kind !== 'accepted') return false;
      if (generation === this.#generation) this.#cacheLogin(digest, nowMs, settings.maxCacheSize);
      await this.#cacheGroups(settings, name, generation, true);
      return true;
    });
  }

  /**
   * Queries the groups of a user whose password is right, unless they are cached. If they cannot be found, a stored user logs in all the
   * same; any other user then has no identity.
   */
  async #cacheGroups(
    settings: LdapSettings,
    name: string,
    generation: number,
    isConnected = false,
  ): Promise<void> {
    if (!settings.authorizationEnabled || this.users.groupsOf(name) !== null) return;
    const key = `${generation} ${name}`;
    let query = this.#groupQueries.get(key);
    if (query === undefined && !isConnected && !this.#mayConnect(settings)) return;
    if (query === undefined) {
      const find = () => this.#findGroups(settings, name, generation);
      query = (isConnected ? find() : this.#connected(find)).finally(() => this.#groupQueries.delete(key));
      this.#groupQueries.set(key, query);
    }
    await query;
  }

  async #findGroups(settings: LdapSettings, name: string, generation: number): Promise<void> {
    const outcome = await this.#deps.server.groups(settings, name);
    if (outcome.kind === 'failed') this.#deps.log.warn('ldap.failed', { reason: outcome.reason });
    else if (generation === this.#generation) {
      this.users.cache(name, outcome.groups, settings);
      await this.#deps.applied();
    }
  }

  #mayConnect({ maxParallelConnections }: LdapSettings): boolean {
    return this.#connections < Math.min(maxParallelConnections, connectionsMax);
  }

  async #connected<T>(act: () => Promise<T>): Promise<T> {
    this.#connections++;
    try {
      return await act();
    } finally {
      this.#connections--;
    }
  }

  /** `tryGroups`, `tryLogin` and `tryConnection` use the stored settings with the unsaved `changes` merged in. */
  async tryGroups(changes: Partial<LdapSettings>, name: string): Promise<GroupsOutcome> {
    return await this.#deps.server.groups(await this.merged(changes), name);
  }

  async tryLogin(changes: Partial<LdapSettings>, name: string, password: string): Promise<LoginOutcome> {
    if (password === '') return { kind: 'refused', reason: 'the password is empty' };
    return await this.#deps.server.login(await this.merged(changes), name, password);
  }

  async tryConnection(changes: Partial<LdapSettings>): Promise<string | null> {
    return await this.#deps.server.reach(await this.merged(changes));
  }

  async #login(settings: LdapSettings, name: string, password: string): Promise<LoginOutcome> {
    const outcome = await this.#deps.server.login(settings, name, password);
    if (outcome.kind === 'failed') this.#deps.log.warn('ldap.failed', { reason: outcome.reason });
    return outcome;
  }

  #cacheLogin(digest: string, atMs: number, max: number): void {
    this.#accepted.delete(digest);
    this.#accepted.set(digest, atMs);
    while (this.#accepted.size > max) this.#accepted.delete(this.#accepted.keys().next().value as string);
  }

  #sealed(use: string, secret: string): string {
    return secret === '' ? '' : this.#deps.secrets.seal(use, secret);
  }

  #opened(use: string, sealed: string): string {
    return sealed === '' ? '' : this.#deps.secrets.open(use, sealed);
  }
}
