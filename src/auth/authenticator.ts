// Authenticates requests. Verifying a password takes a slow hash. Recent successful verifications are cached under a keyed digest, so
// that the hash is computed once for a client with the right password.
import { hash } from 'node:crypto';
import type { Identity } from '#contract/route.ts';
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import type { Authority, Caller } from './authority.ts';
import { HashingQueue } from './hashing-queue.ts';
import type { Kdf } from './kdf.ts';
import { LoginThrottle } from './login-throttle.ts';
import { passwordMatches, pretendToCompare, type StoredPassword } from './passwords.ts';
import { allows, type GrantedRole, holdsRole } from './role-rules.ts';
import type { UserLimits } from './user-limits.ts';

export interface KnownIdentity {
  readonly identity: Identity;
  /** Null for a user who cannot log in with a password. */
  readonly password: StoredPassword | null;
  /** Changes with the password. */
  readonly credentialId: string;
  readonly roles: readonly GrantedRole[];
  /** Absent unless limits are enforced. */
  readonly limits?: UserLimits;
}

/** The stored identities in their current state. */
export interface IdentitySource {
  isProvisioned(): boolean;
  find(name: string): KnownIdentity | null;
  /** Finds an identity in a domain; absent if there is only one domain. */
  findIn?(name: string, domain: string): KnownIdentity | null;
  onChange(listener: () => void): { stop(): void };
}

/** Checks the password of an external user. */
export type VerifyExternal = (name: string, password: string) => Promise<boolean>;

type Attempt = Parameters<Authority['authenticate']>[0];

const cachedDigestsMax = 1_000;

export class Authenticator implements Authority {
  readonly anonymous: Caller = callerOf({ name: '', domain: 'anonymous' }, []);
  readonly #source: IdentitySource;
  readonly #kdf: Kdf;
  readonly #verifyExternal: VerifyExternal;
  readonly #admitsUnknown: () => boolean;
  readonly #throttle: LoginThrottle;
  /** The beginning of every text that is hashed. */
  readonly #digestKey: string;
  readonly #cachedDigests = new Set<string>();
  readonly #hashingQueue = new HashingQueue();
  readonly #comparing = new Map<string, Promise<boolean>>();
  /** The digest of the only credentials with which a client may set the node up; null: any client may. */
  #reserved: string | null = null;
  /** Each caller's account when it was authenticated, and the id of its credentials. */
  readonly #accounts = new WeakMap<
    Caller,
    { readonly account: KnownIdentity; readonly credentialId: string }
  >();
  /** For impersonated callers: the authenticated sender. */
  readonly #senders = new WeakMap<Caller, Caller>();

  constructor(options: {
    source: IdentitySource;
    kdf: Kdf;
    clock: Clock;
    random: Random;
    verifyExternal?: VerifyExternal | undefined;
    /** True if an external verification can succeed for a name that `source` does not know. */
    admitsUnknown?: () => boolean;
  }) {
    this.#source = options.source;
    this.#kdf = options.kdf;
    this.#verifyExternal = options.verifyExternal ?? (async () => false);
    this.#admitsUnknown = options.admitsUnknown ?? (() => false);
    this.#throttle = new LoginThrottle(options.clock);
    this.#digestKey = Buffer.from(options.random.bytes(32)).toString('base64');
  }

  isProvisioned(): boolean {
    return this.#source.isProvisioned();
  }

  /** Until the node is provisioned, only these credentials may set it up. */
  reserveFor(name: string, password: string): void {
    this.#reserved = this.#digest(name, '', password);
  }

  maySetUp(sent: { readonly name: string; readonly password: string } | null): boolean {
    if (this.#reserved === null) return true;
    // Digests are keyed by a secret of this process, so the time of their comparison reveals nothing about the credentials.
    return sent !== null && this.#digest(sent.name, '', sent.password) === this.#reserved;
  }

  byCertificate(name: string): Caller | null {
    const found = this.#source.find(name);
    return found && this.#callerOf(found, '');
  }

  impersonated(by: Caller, name: string, domain: string): Caller | null {
    const found = this.#source.findIn?.(name, domain) ?? null;
    if (!found) return null;
    const caller = { ...callerOf(found.identity, found.roles), sender: by.identity };
    this.#accounts.set(caller, { account: found, credentialId: '' });
    this.#senders.set(caller, by);
    return caller;
  }

  whenChanged(caller: Caller, notify: () => void): { stop(): void } {
    const by = this.#senders.get(caller);
    const watches = [this.#watch(caller, notify), ...(by ? [this.#watch(by, notify)] : [])];
    return {
      stop() {
        for (const watch of watches) watch.stop();
      },
    };
  }

  #watch(caller: Caller, notify: () => void): { stop(): void } {
    const subscription = this.#source.onChange(() => check());
    const stop = () => subscription.stop();
    const check = (): void => {
      if (this.#isAsAuthenticated(caller)) return;
      stop();
      notify();
    };
    check();
    return { stop };
  }

  hasChanged(caller: Caller): boolean {
    const by = this.#senders.get(caller);
    return !this.#isAsAuthenticated(caller) || (by !== undefined && !this.#isAsAuthenticated(by));
  }

  #isAsAuthenticated(caller: Caller): boolean {
    const { name, domain } = caller.identity;
    const before = this.#accounts.get(caller);
    const current = this.#source.findIn ? this.#source.findIn(name, domain) : this.#source.find(name);
    if (current === null || before === undefined) return false;
    if (current === before.account) return true;
    const credentialId = before.credentialId === '' ? '' : current.credentialId;
    return versionOf(current, credentialId) === versionOf(before.account, before.credentialId);
  }

  #callerOf(account: KnownIdentity, credentialId: string): Caller {
    const caller = callerOf(account.identity, account.roles, account.limits);
    this.#accounts.set(caller, { account, credentialId });
    return caller;
  }

  async authenticate(attempt: Attempt): Promise<Caller | null> {
    const account = this.#source.find(attempt.name);
    const isPasswordRight = await this.#verifyPassword(account, attempt);
    // The password or the roles may have changed during the verification.
    const current = this.#source.find(attempt.name);
    const isSame = account
      ? current?.credentialId === account.credentialId
      : current?.identity.domain === 'external';
    if (isPasswordRight && current && isSame) return this.#callerOf(current, current.credentialId);
    await this.#throttle.failed(attempt.remoteAddress, attempt.name);
    return null;
  }

  /** Caches a password that was just set, so that its first use needs no verification. */
  cachePassword(name: string, credentialId: string, password: string): void {
    this.#cacheDigest(this.#digest(name, credentialId, password));
  }

  async #verifyPassword(account: KnownIdentity | null, attempt: Attempt): Promise<boolean> {
    const { password } = attempt;
    const isSuspect = this.#throttle.isSuspect(attempt.remoteAddress);
    const isExternal = account ? account.identity.domain === 'external' : this.#admitsUnknown();
    if (isExternal && (await this.#verifyExternal(attempt.name, password))) return true;
    // Hash also after the failed login of an external user: without an LDAP server the refusal would come at once, and so show that the
    // account exists.
    if (!account?.password) {
      await this.#hashingQueue.run(isSuspect, () => pretendToCompare(password, this.#kdf));
      return false;
    }
    const digest = this.#digest(account.identity.name, account.credentialId, password);
    if (this.#cachedDigests.has(digest)) return true;
    const stored = account.password;
    // A starting client sends many requests at once: one hash serves all of them.
    const comparing =
      this.#comparing.get(digest) ??
      this.#hashingQueue.run(isSuspect, () => passwordMatches(stored, password, this.#kdf));
    this.#comparing.set(digest, comparing);
    const isEqual = await comparing.finally(() => this.#comparing.delete(digest));
    if (isEqual) this.#cacheDigest(digest);
    return isEqual;
  }

  #digest(name: string, credentialId: string, password: string): string {
    // In one call: an object for the hash takes twice as long. Digests do not leave this object, so that a key in front is enough.
    return hash('sha256', JSON.stringify([this.#digestKey, name, credentialId, password]), 'base64');
  }

  #cacheDigest(digest: string): void {
    this.#cachedDigests.add(digest);
    if (this.#cachedDigests.size > cachedDigestsMax) {
      this.#cachedDigests.delete(this.#cachedDigests.values().next().value as string);
    }
  }
}

export function callerOf(identity: Identity, roles: readonly GrantedRole[], limits?: UserLimits): Caller {
  return {
    identity,
    hasRoles: roles.length > 0,
    roles,
    ...(limits && { limits }),
    permits: (permission) => allows(roles, permission),
    holds: (role, names) => holdsRole(roles, role, names),
  };
}

/**
 * Changes with everything that the access of a caller depends on. For a caller by certificate `credentialId` is empty: a new
 * password leaves its access as it is.
 */
const versionOf = ({ identity, roles, limits }: KnownIdentity, credentialId: string): string =>
  JSON.stringify([identity, credentialId, roles, limits]);
