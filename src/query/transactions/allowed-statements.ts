// Checks which statements may run inside and outside of a transaction.
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { Prepared } from '#sqlpp/run/engine.ts';

const anywhere: ReadonlySet<string> = new Set([
  ...['SELECT', 'INSERT', 'UPSERT', 'UPDATE', 'DELETE', 'MERGE'],
  ...['EXECUTE', 'PREPARE', 'EXPLAIN', 'EXECUTE_FUNCTION'],
]);
const withinOnly: ReadonlySet<string> = new Set([
  ...['COMMIT', 'ROLLBACK', 'SAVEPOINT', 'SET_TRANSACTION_ISOLATION'],
]);

/** @throws SqlError 17002 */
export function checkAllowed(kind: Prepared['kind'], where: 'outside' | 'within' | 'implicit'): void {
  if (anywhere.has(kind)) return;
  if (withinOnly.has(kind)) {
    if (where !== 'within') throw sqlError(17002, kind, 'outside the');
    return;
  }
  if (where === 'within') throw sqlError(17002, kind, 'within the');
  if (where === 'implicit' && kind !== 'START_TRANSACTION') throw sqlError(17002, kind, 'in implicit');
}
