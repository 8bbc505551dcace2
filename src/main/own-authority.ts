// Accepts, in addition to the accounts of the cluster, the account of the services of this process: its password is in memory only, and it calls the REST API
// and the query service as an administrator.
import { createHash, timingSafeEqual } from 'node:crypto';
import { callerOf } from '#auth/authenticator.ts';
import type { Authority, Caller } from '#auth/authority.ts';

interface Account {
  readonly username: string;
  readonly password: string;
}

const noSubscription = { stop: () => {} };

export function withOwnAccount(authority: Authority, account: () => Account | null): Authority {
  const own = new WeakSet<Caller>();
  return {
    anonymous: authority.anonymous,
    isProvisioned: () => authority.isProvisioned(),
    ...(authority.maySetUp && { maySetUp: authority.maySetUp.bind(authority) }),
    ...(authority.impersonated && { impersonated: authority.impersonated.bind(authority) }),
    byCertificate: (name) => authority.byCertificate(name),
    whenChanged: (caller, notify) =>
      own.has(caller) ? noSubscription : (authority.whenChanged?.(caller, notify) ?? noSubscription),
    hasChanged: (caller) => !own.has(caller) && authority.hasChanged?.(caller) === true,
    async authenticate(attempt) {
      const expected = account();
      if (expected === null || attempt.name !== expected.username)
        return await authority.authenticate(attempt);
      if (!isSame(attempt.password, expected.password)) return await authority.authenticate(attempt);
      const caller = callerOf({ name: expected.username, domain: 'admin' }, [{ role: 'admin', names: [] }]);
      own.add(caller);
      return caller;
    },
  };
}

function isSame(sent: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(sent), digest(expected));
}
