// The audit trail: turns the pipeline's reports of changes and refused requests into events.
import type { Identity } from '#contract/route.ts';
import type { Audit, ChangeMade, RequestRefused } from '#http/audit.ts';
import type { PermissionRefusal } from '#query/audit.contract.ts';
import { type AuditEvent, auditEventOf, loginFailed, permissionRefused } from '../audit/audit-events.ts';
import type { AuditedCause, AuditLog } from '../audit/audit-log.ts';
import type { Denials } from './denials.ts';
import { changeByRoute } from './event-kinds.ts';
import type { EventLog } from './event-log.ts';
import { redacted } from './redact.ts';

export interface AuditTrailDeps {
  events: EventLog;
  denials: Denials;
  /** Null if no user of that name exists. An unknown name may be a password in the wrong field, and is not stored. */
  identityOf(name: string): Identity | null;
  /** Gets the same events, if the audit log is enabled. */
  auditLog?: Pick<AuditLog, 'record'>;
}

export class AuditTrail implements Audit {
  readonly #deps: AuditTrailDeps;

  constructor(deps: AuditTrailDeps) {
    this.#deps = deps;
  }

  changed({ route, path, query, body, identity, sender, remoteAddress, isTls }: ChangeMade): void {
    const sent = { ...redacted(query), ...redacted(body) };
    this.#deps.events.record(changeByRoute(route.id), {
      operation: route.id,
      method: route.method,
      path: path.slice(0, 500),
      user: identity.name,
      domain: identity.domain,
      from: remoteAddress,
      encrypted: isTls,
      ...(sender && { real_user: sender.name }),
      ...(Object.keys(sent).length > 0 && { sent }),
    });
    this.#deps.auditLog?.record(auditEventOf(route.id), {
      user: sender ?? identity,
      ...(sender && { effective: identity }),
      from: remoteAddress,
      details: { operation: route.id, ...(Object.keys(sent).length > 0 && { sent }) },
    });
  }

  /** Records a refused login at a port of a service. */
  loginRefused(
    { user, from }: { readonly user: string | null; readonly from: string },
    service: 'data' | 'query',
  ): void {
    const identity = user === null ? null : this.#deps.identityOf(user);
    this.#deps.denials.add('login_failed', { ...namesOf(identity), from, service });
    this.#recordRefusal(loginFailed, identity, { from, details: { service } });
  }

  /** Records a request to the query service that was refused for a missing permission. */
  permissionRefused({ user, from, operation }: PermissionRefusal): void {
    const identity = user as Identity;
    this.#deps.denials.add('permission_refused', { ...namesOf(identity), from, service: 'query', operation });
    this.#recordRefusal(permissionRefused, identity, { from, details: { service: 'query', operation } });
  }

  refused({ reason, user, sender, effective, remoteAddress, route }: RequestRefused): void {
    const isPermission = reason === 'permission';
    const identity = sender ?? this.#deps.identityOf(user);
    this.#deps.denials.add(isPermission ? 'permission_refused' : 'login_failed', {
      ...namesOf(effective ?? identity),
      ...(effective && identity && { real_user: identity.name }),
      from: remoteAddress,
      operation: route.id,
      method: route.method,
      path: route.path,
    });
    this.#recordRefusal(isPermission ? permissionRefused : loginFailed, identity, {
      ...(effective && { effective }),
      from: remoteAddress,
      details: { operation: route.id },
    });
  }

  #recordRefusal(event: AuditEvent, identity: Identity | null, cause: Omit<AuditedCause, 'user'>): void {
    this.#deps.auditLog?.record(event, { ...cause, user: identity ?? { name: '', domain: 'unknown' } });
  }
}

const namesOf = (identity: Identity | null) =>
  identity === null ? { user: null } : { user: identity.name, domain: identity.domain };
