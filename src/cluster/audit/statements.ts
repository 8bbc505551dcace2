// Statements in the audit log: which are recorded, and how.
import type { AuditedStatement, StatementAuditing } from '#query/audit.contract.ts';
import { auditEventOfId } from './audit-events.ts';
import type { AuditLog } from './audit-log.ts';
import type { AuditSettings } from './audit-settings.ts';

/** Which statements the query service reports to the audit log; null: none. */
export function statementAuditing({
  auditdEnabled,
  disabled,
  disabledUsers,
}: AuditSettings): StatementAuditing {
  return auditdEnabled ? { disabled, disabledUsers } : null;
}

export function recordStatement(
  log: Pick<AuditLog, 'record'>,
  { id, user, from, details }: AuditedStatement,
): void {
  log.record(auditEventOfId(id), { user, from: addressOf(from), details });
}

/** The address without the port. */
const addressOf = (from: string): string => from.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
