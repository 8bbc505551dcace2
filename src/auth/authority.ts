// What the HTTP kit needs to know about callers; implemented over the stored identities, or by a test.
import type { Identity } from '#contract/route.ts';
import type { Permission } from './permission.ts';
import type { GrantedRole } from './role-rules.ts';
import type { UserLimits } from './user-limits.ts';

export interface Caller {
  readonly identity: Identity;
  /** Who really sent the request, where that is somebody else. */
  readonly sender?: Identity;
  /** False for an identity without any role: it is authenticated but has no permission. */
  readonly hasRoles: boolean;
  /** As granted, for threads of their own that judge by them; left out by tests. */
  readonly roles?: readonly GrantedRole[];
  /** Absent for a user without limits, or while none are enforced. */
  readonly limits?: UserLimits;
  permits(permission: Permission): boolean;
  /** True when one of the caller's roles is this one. Names given limit it: the role must reach that bucket, scope, collection. */
  holds(role: string, names?: readonly (string | null)[]): boolean;
}

export interface Authority {
  /** False until the first administrator's credentials are set. */
  provisioned(): boolean;
  /** Before provisioning: whether these credentials may set the node up. Any may, unless the node is reserved for an administrator. */
  maySetUp?(sent: { readonly name: string; readonly password: string } | null): boolean;
  readonly anonymous: Caller;
  /** The identity named by a verified client certificate; null if there is none. */
  certified(name: string): Caller | null;
  /** The identity that a caller acts for; null when there is none of that name in the domain. */
  impersonated?(by: Caller, name: string, domain: string): Caller | null;
  /** Calls back once when the caller's account is deleted or its credentials or roles change (at once if that has happened). */
  whenChanged?(caller: Caller, notify: () => void): { stop(): void };
  /** Resolves with null for wrong credentials, after a delay that grows with each failure. */
  authenticate(attempt: { name: string; password: string; remoteAddress: string }): Promise<Caller | null>;
}
