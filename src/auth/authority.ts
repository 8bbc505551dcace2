// The interface through which HTTP servers authenticate callers; implemented by Authenticator, and by fakes in tests.
import type { Identity } from '#contract/route.ts';
import type { Permission } from './permission.ts';
import type { GrantedRole } from './role-rules.ts';
import type { UserLimits } from './user-limits.ts';

export interface Caller {
  readonly identity: Identity;
  /** The authenticated sender, if it is not `identity` itself. */
  readonly sender?: Identity;
  /** False for an identity without any role: it is authenticated but has no permission. */
  readonly hasRoles: boolean;
  /** The roles, for other threads that check permissions. */
  readonly roles?: readonly GrantedRole[];
  /** Absent for a user without limits, or while none are enforced. */
  readonly limits?: UserLimits;
  permits(permission: Permission): boolean;
  /** True when the caller has the role, and the role includes the bucket, scope and collection of `names`. */
  holds(role: string, names?: readonly (string | null)[]): boolean;
}

export interface Authority {
  /** False until the first administrator's credentials are set. */
  isProvisioned(): boolean;
  /** Before provisioning: whether these credentials may set the node up. Any may, unless the node is reserved for an administrator. */
  maySetUp?(sent: { readonly name: string; readonly password: string } | null): boolean;
  readonly anonymous: Caller;
  /** The identity named by a verified client certificate; null if there is none. */
  byCertificate(name: string): Caller | null;
  /** The identity that a caller acts for; null when there is none of that name in the domain. */
  impersonated?(by: Caller, name: string, domain: string): Caller | null;
  /** Calls back once when the caller's account is deleted or its credentials or roles change (at once if that has happened). */
  whenChanged?(caller: Caller, notify: () => void): { stop(): void };
  /** Whether `whenChanged` would call back at once. */
  hasChanged?(caller: Caller): boolean;
  /** Resolves with null for wrong credentials, after a delay that grows with each failure. */
  authenticate(attempt: { name: string; password: string; remoteAddress: string }): Promise<Caller | null>;
}
