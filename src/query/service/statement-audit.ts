// Reports ended statements to the audit log if it is enabled: their text, never values of parameters. Refused permissions are always reported.
import { withoutPort } from '#base/host-and-port.ts';
import { type StatementUser, statementEventOf } from '../audit.contract.ts';
import { shownMessage, withoutPasswords } from '../catalog/without-passwords.ts';
import { durationText } from '../request/duration.ts';
import type { ActiveRequest } from '../state/active-requests.ts';
import type { QueryServiceDeps } from '../state/parts.ts';

interface EndedStatement {
  readonly active: ActiveRequest;
  readonly elapsedMs: number;
  readonly serviceMs: number;
  readonly warnings: number;
}

/** Characters of a statement; longer ones are truncated. */
const textMax = 64 * 1024;

/** One event for each user that the request names. */
export function auditStatement(
  { audit, node }: Pick<QueryServiceDeps, 'audit' | 'node'>,
  ended: EndedStatement,
): void {
  const auditing = audit.settings();
  const { active } = ended;
  if (auditing === null) return;
  const { id } = statementEventOf(active.kind);
  if (auditing.disabled.includes(id)) return;
  let details: Record<string, unknown> | null = null;
  for (const user of active.users.map(userOf)) {
    if (auditing.disabledUsers.some(({ name, domain }) => name === user.name && domain === user.domain))
      continue;
    details ??= detailsOf(ended, node().name);
    audit.report({ id, user, from: active.remoteAddress, details });
  }
}

/** The code of the error about a missing permission. */
const permissionMissing = 13014;

/** Reports that a request was refused, for each user that it names, if this was for a missing permission. */
export function reportRefusal(
  { audit }: Pick<QueryServiceDeps, 'audit'>,
  { users, remoteAddress }: Pick<ActiveRequest, 'users' | 'remoteAddress'>,
  errors: readonly { readonly code: number }[],
  operation: string,
): void {
  if (!errors.some(({ code }) => code === permissionMissing)) return;
  const from = withoutPort(remoteAddress);
  for (const user of users.map(userOf)) audit.permissionRefused({ user, from, operation });
}

/** Parses `name` of a local user, or `domain:name`. */
function userOf(text: string): StatementUser {
  const [, domain = 'local', name = ''] = /^(?:(admin|external):)?(.*)$/s.exec(text) ?? [];
  return { name, domain };
}

function detailsOf(
  { active, elapsedMs, serviceMs, warnings }: EndedStatement,
  node: string,
): Record<string, unknown> {
  const { request, rows, outcome, errors } = active;
  const statement = active.preparedText ?? request?.statement ?? '';
  const isFailed = active.state !== 'completed' || errors.length > 0;
  return {
    requestId: active.id,
    // Cut before passwords are looked for, since a refused statement may be very long; and after, since their replacements may be longer.
    statement: withoutPasswords(statement.slice(0, textMax)).slice(0, textMax),
    ...(statement.length > textMax && { isStatementCut: true }),
    isAdHoc: active.preparedName === null,
    ...(active.preparedName !== null && { preparedId: active.preparedName }),
    userAgent: active.userAgent,
    node,
    status: active.state === 'completed' ? (isFailed ? 'errors' : 'success') : active.state,
    ...(request?.clientContextId && { clientContextId: request.clientContextId }),
    ...(request?.queryContextText && { queryContext: request.queryContextText }),
    ...(request?.transaction.id && { txId: request.transaction.id }),
    metrics: {
      elapsedTime: durationText(elapsedMs),
      executionTime: durationText(serviceMs),
      resultCount: rows.count,
      resultSize: rows.bytes,
      ...(outcome && outcome.mutations > 0 && { mutationCount: outcome.mutations }),
      ...(errors.length > 0 && { errorCount: errors.length }),
      ...(warnings > 0 && { warningCount: warnings }),
    },
    ...(errors.length > 0 && {
      errors: errors.map(({ code, msg }) => ({ code, msg: shownMessage(msg, statement) })),
    }),
  };
}
