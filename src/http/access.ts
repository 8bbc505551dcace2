// Access control of routes. Checks that need no credentials come first; wrong credentials are refused even on open routes.

import type { Authority, Caller } from '#auth/authority.ts';
import { fillPermission, type Permission, parsePermission, permissionText } from '#auth/permission.ts';
import { assert } from '#base/assert.ts';
import type { Params, RouteDefinition } from '#contract/route.ts';
import type { Credentials } from './credentials.ts';

export type AccessDecision =
  | { readonly kind: 'passed'; readonly caller: Caller }
  | { readonly kind: 'unauthenticated'; readonly caller: Caller | null }
  | { readonly kind: 'forbidden'; readonly caller: Caller; readonly permission: string };

const impersonate = parsePermission('cluster.admin.security.admin!impersonate') as Permission;

/** A route's access rule with its texts parsed. */
interface Rule {
  readonly permission: Permission;
  allows(caller: Caller, params: Params): boolean;
}

export class AccessGate {
  readonly #authority: Authority;
  readonly #forbidsRoleless: boolean;
  readonly #rules = new Map<RouteDefinition, Rule | null>();

  /** `forbidsRoleless`: whether a user without roles gets 403, like a user without the permission, instead of 401, like an unknown user. */
  constructor(authority: Authority, routes: readonly RouteDefinition[], forbidsRoleless = false) {
    this.#authority = authority;
    this.#forbidsRoleless = forbidsRoleless;
    for (const route of routes) this.#rules.set(route, ruleOf(route));
  }

  async decide(
    route: RouteDefinition,
    params: Params,
    credentials: Credentials,
    remoteAddress: string,
    onBehalfOf?: string,
  ): Promise<AccessDecision> {
    if (!this.#authority.isProvisioned()) return this.#beforeProvisioning(route, credentials);
    const sender = await this.#identify(credentials, remoteAddress);
    if (!sender) return { kind: 'unauthenticated', caller: null };
    const actsFor = onBehalfOf === undefined ? null : this.#impersonated(sender, onBehalfOf);
    if (actsFor && !('identity' in actsFor)) return actsFor;
    const caller = actsFor ?? sender;
    if (route.access.kind === 'anyone') return { kind: 'passed', caller };
    const isKnown = caller.hasRoles || this.#forbidsRoleless;
    if (caller.identity.domain === 'anonymous' || !isKnown) return { kind: 'unauthenticated', caller };
    const rule = this.#rules.get(route);
    if (!rule || rule.allows(caller, params)) return { kind: 'passed', caller };
    return { kind: 'forbidden', caller, permission: permissionText(fillPermission(rule.permission, params)) };
  }

  /** The identity in the header `cb-on-behalf-of`: name and domain in base64, separated by a colon. */
  #impersonated(sender: Caller, header: string): Caller | AccessDecision {
    if (sender.identity.domain === 'anonymous') return { kind: 'unauthenticated', caller: sender };
    if (!sender.permits(impersonate)) {
      return { kind: 'forbidden', caller: sender, permission: permissionText(impersonate) };
    }
    const text = Buffer.from(header, 'base64').toString('utf8');
    const at = text.lastIndexOf(':');
    const found =
      at < 1 ? null : this.#authority.impersonated?.(sender, text.slice(0, at), text.slice(at + 1));
    return found ?? { kind: 'unauthenticated', caller: null };
  }

  #beforeProvisioning(route: RouteDefinition, credentials: Credentials): AccessDecision {
    const caller = this.#authority.anonymous;
    const sent = credentials.kind === 'basic' ? credentials : null;
    const mayCall = route.method === 'GET' || (this.#authority.maySetUp?.(sent) ?? true);
    const isOpen = route.openBeforeProvisioning === true && mayCall;
    return isOpen ? { kind: 'passed', caller } : { kind: 'unauthenticated', caller };
  }

  async #identify(credentials: Credentials, remoteAddress: string): Promise<Caller | null> {
    if (credentials.kind === 'none') return this.#authority.anonymous;
    if (credentials.kind === 'unusable') return null;
    if (credentials.kind === 'certificate') {
      const { user, otherwise } = credentials;
      const found = user === null ? null : this.#authority.byCertificate(user);
      return found ?? (otherwise && this.#identify(otherwise, remoteAddress));
    }
    const { name, password } = credentials;
    return await this.#authority.authenticate({ name, password, remoteAddress });
  }
}

function ruleOf(route: RouteDefinition): Rule | null {
  const { access } = route;
  if (access.kind === 'anyone' || access.kind === 'authenticated') return null;
  const permission = parsePermission(access.permission);
  assert(permission, `route ${route.id}: malformed permission ${access.permission}`);
  const texts = access.kind === 'roles' ? [access.permission, ...access.roles] : [access.permission];
  for (const text of texts) assertNamesParameters(route, text);
  if (access.kind === 'permission') {
    return { permission, allows: (caller, params) => caller.permits(fillPermission(permission, params)) };
  }
  const roles = access.roles.map(parseRole);
  return {
    permission,
    allows: (caller, params) => roles.some((role) => caller.holds(role.id, role.names(params))),
  };
}

/** A misspelt parameter would match any name and grant too much. */
function assertNamesParameters(route: RouteDefinition, text: string): void {
  for (const [, name] of text.matchAll(/\{(\w+)\}/g)) {
    assert(route.path.split('/').includes(`:${name}`), `route ${route.id} has no parameter ${name}`);
  }
}

/** `admin`, or `bucket_admin[{bucket}]` for a role that must cover the bucket named in the path. */
function parseRole(text: string): { id: string; names: (params: Params) => string[] | undefined } {
  const [, id, inside] = /^(\w+)(?:\[(.+)\])?$/.exec(text) ?? [];
  assert(id, `malformed role ${text}`);
  if (inside === undefined) return { id, names: () => undefined };
  const parts = inside.split(':').map((part) => part.replace(/^\{(\w+)\}$/, '$1'));
  return { id, names: (params) => parts.map((part) => params[part] ?? '') };
}
