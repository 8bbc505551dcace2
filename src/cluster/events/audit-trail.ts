// The audit trail: who changed what, from where; who was not let in. What the pipeline tells, as events.
import type { Audit, ChangeMade, RequestRefused } from '#http/audit.ts';
import { changeByRoute } from './event-kinds.ts';
import type { EventLog } from './event-log.ts';
import { redacted } from './redact.ts';
import type { Refusals } from './refusals.ts';

export interface AuditTrailDeps {
  events: EventLog;
  refusals: Refusals;
  /** Whether anyone has that name. Another may be a password in the wrong field, and is not kept. */
  isUser(name: string): boolean;
}

export class AuditTrail implements Audit {
  readonly #deps: AuditTrailDeps;

  constructor(deps: AuditTrailDeps) {
    this.#deps = deps;
  }

  changed({ route, path, query, body, identity, sender, remoteAddress, tls }: ChangeMade): void {
    const sent = { ...redacted(query), ...redacted(body) };
    this.#deps.events.record(changeByRoute(route.id), {
      ...{ operation: route.id, method: route.method, path: path.slice(0, 500) },
      ...{ user: identity.name, domain: identity.domain, from: remoteAddress, encrypted: tls },
      ...(sender && { real_user: sender.name }),
      ...(Object.keys(sent).length > 0 && { sent }),
    });
  }

  /** At the data port. */
  loginRefused({ user, from }: { user: string | null; from: string }): void {
    this.#deps.refusals.note('login_failed', { user, from, service: 'data' });
  }

  refused({ reason, user, remoteAddress, route }: RequestRefused): void {
    const name = reason === 'permission' ? 'permission_refused' : 'login_failed';
    this.#deps.refusals.note(name, {
      user: this.#deps.isUser(user) ? user : null,
      from: remoteAddress,
      ...{ operation: route.id, method: route.method, path: route.path },
    });
  }
}
