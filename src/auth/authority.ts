// What the HTTP kit needs to know about callers; implemented over the stored identities, or by a test.
import type { Identity } from '#contract/route.ts';
import type { Permission } from './permission.ts';

export interface Caller {
  readonly identity: Identity;
  /** False for an identity without any role: it is known, but let in nowhere. */
  readonly hasRoles: boolean;
  permits(permission: Permission): boolean;
  /** True when one of the caller's roles is this one. Names given limit it: the role must reach that bucket, scope, collection. */
  holds(role: string, names?: readonly (string | null)[]): boolean;
}

export interface Authority {
  /** False until the first administrator's credentials are set. */
  provisioned(): boolean;
  /** Before provisioning: whether who sends these may set the node up. Everybody may, unless that is promised to somebody. */
  maySetUp?(sent: { readonly name: string; readonly password: string } | null): boolean;
  readonly anonymous: Caller;
  /** Whoever goes by the name in a certificate that was believed; null when nobody does. */
  certified(name: string): Caller | null;
  /** Tells, once, that a caller's account has gone or has other credentials or roles: now, or when that happens. */
  whenChanged?(caller: Caller, tell: () => void): { stop(): void };
  /** Answers null for credentials that are not right, after a delay that grows with each failure. */
  authenticate(attempt: { name: string; password: string; remoteAddress: string }): Promise<Caller | null>;
}
