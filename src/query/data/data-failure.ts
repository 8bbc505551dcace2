// Translates failures of the data service to errors of a statement.
import { DataPortError, isTransient, StatusError, statusName } from '#client/data-port-error.ts';
import { type Keyspace, keyspaceText } from '#sqlpp/datastore/keyspace.ts';
import { type SqlError, sqlError, sqlErrorWith } from '#sqlpp/errors/sql-error.ts';
import { Status } from '#wire/status.ts';

/** Statuses that a statement reports as a missing keyspace. */
export const missingStatuses: ReadonlySet<number> = new Set([
  Status.unknownCollection,
  Status.unknownScope,
  Status.noBucket,
  Status.noAccess,
  Status.keyNotFound,
]);

/** The error of a statement for a failure of the data service; other errors are returned unchanged. */
export function dataFailure(error: unknown, { name }: Pick<Keyspace, 'name'>): Error {
  if (error instanceof StatusError) return statusFailure(error.status, name);
  if (!(error instanceof DataPortError)) return error as Error;
  return sqlErrorWith(12008, { isRetryable: true, cause: error.message }, `on ${keyspaceText(name)}`);
}

export function statusFailure(status: number, name: Keyspace['name']): SqlError {
  if (missingStatuses.has(status)) return sqlError(12003, keyspaceText(name));
  const isRetryable = isTransient(status);
  const text = `on ${keyspaceText(name)}: the data service answered ${statusName(status)}`;
  return sqlErrorWith(12008, { isRetryable }, text);
}
