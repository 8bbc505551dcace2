// Errors and warnings as entries of an answer.
import { SqlError } from '#sqlpp/errors/sql-error.ts';

/** The entry of an unexpected error, whose text may contain data that the user may not read. */
const internal = { code: 5000, msg: 'Internal error: the log of the node has the reason.' };

export interface ErrorEntry {
  code: number;
  msg: string;
  retry?: boolean;
  reason?: unknown;
  cause?: unknown;
}

/** `hasMutations`: the request has changed documents, so the client must not retry it. */
export function errorEntry(error: unknown, hasMutations: boolean): ErrorEntry {
  if (!(error instanceof SqlError)) return internal;
  const { code, message: msg, reason, cause, isRetryable } = error;
  const isPlain = cause !== undefined && !(cause instanceof Error);
  return {
    code,
    msg,
    ...(isRetryable && { retry: !hasMutations }),
    ...(reason !== undefined && { reason }),
    ...(isPlain && { cause }),
  };
}

/** The HTTP status of an answer that failed before anything was sent. */
export const statusOf = (error: unknown): number => (error instanceof SqlError ? error.status : 500);
