// Caches in memory the users that logged in through the LDAP server, with their groups, which are read again after `cacheValueLifetime` ms. A user
// whose groups cannot be read for twice that time is discarded.
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { DirectoryServer } from './directory-server.ts';
import type { LdapSettings } from './ldap-settings.ts';

export interface LdapUsersDeps {
  server: Pick<DirectoryServer, 'groups'>;
  readSettings: () => Promise<LdapSettings>;
  clock: Clock;
  log: Log;
}

interface CachedUser {
  groups: readonly string[];
  readMs: number;
}

/** A lower setting would ask the LDAP server more often than once a second. */
const lifetimeMsMin = 1_000;

export class LdapUsers {
  readonly #deps: LdapUsersDeps;
  readonly #cached = new Map<string, CachedUser>();
  readonly #listeners = new Set<() => void>();
  #timer: Timer | null = null;

  constructor(deps: LdapUsersDeps) {
    this.#deps = deps;
  }

  /** Distinguished names of the user's groups; null if the user is not cached. */
  groupsOf(name: string): readonly string[] | null {
    return this.#cached.get(name)?.groups ?? null;
  }

  names(): Iterable<string> {
    return this.#cached.keys();
  }

  onChange(listener: () => void): { stop(): void } {
    this.#listeners.add(listener);
    return { stop: () => void this.#listeners.delete(listener) };
  }

  cache(name: string, groups: readonly string[], settings: LdapSettings): void {
    const before = this.#cached.get(name)?.groups;
    this.#cached.delete(name);
    this.#cached.set(name, { groups, readMs: this.#deps.clock.monotonicMs() });
    while (this.#cached.size > Math.max(settings.maxCacheSize, 1))
      this.#cached.delete(this.#cached.keys().next().value as string);
    this.#schedule(lifetimeMsOf(settings));
    if (JSON.stringify(before) !== JSON.stringify(groups)) this.#notify();
  }

  clear(): void {
    this.stop();
    this.#cached.clear();
    this.#notify();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #schedule(lifetimeMs: number): void {
    this.#timer ??= this.#deps.clock.after(lifetimeMs, () => void this.#refresh(lifetimeMs));
  }

  /** If the settings cannot be read, tries again after the same lifetime. */
  async #refresh(lastLifetimeMs: number): Promise<void> {
    const { readSettings, log } = this.#deps;
    const running = this.#timer;
    let lifetimeMs = lastLifetimeMs;
    try {
      const settings = await readSettings();
      lifetimeMs = lifetimeMsOf(settings);
      await this.#refreshAll(settings, lifetimeMs);
    } catch (error) {
      log.warn('ldap.failed', { reason: (error as Error).message });
    }
    if (this.#timer !== running) return;
    this.#timer = null;
    if (this.#cached.size > 0) this.#schedule(lifetimeMs);
  }

  async #refreshAll(settings: LdapSettings, lifetimeMs: number): Promise<void> {
    const { server, clock, log } = this.#deps;
    for (const [name, cached] of [...this.#cached]) {
      const ageMs = clock.monotonicMs() - cached.readMs;
      if (ageMs < lifetimeMs) continue;
      const outcome = await server.groups(settings, name);
      if (this.#cached.get(name) !== cached) continue;
      if (outcome.kind === 'found' && outcome.groups.length > 0) this.cache(name, outcome.groups, settings);
      else if (outcome.kind === 'found' || ageMs >= 2 * lifetimeMs) this.#discard(name);
      if (outcome.kind === 'failed') log.warn('ldap.failed', { reason: outcome.reason });
    }
  }

  #discard(name: string): void {
    this.#cached.delete(name);
    this.#notify();
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

const lifetimeMsOf = ({ cacheValueLifetime }: LdapSettings): number =>
  Math.max(cacheValueLifetime, lifetimeMsMin);
