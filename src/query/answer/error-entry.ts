// Errors and warnings as entries of an answer.
import { SqlError } from '#sqlpp/errors/sql-error.ts';

/** What an unknown failure shows: its text may name what the user must not see. */
const internal = { code: 5000, msg: 'Internal error: the log of the node has the reason.' };

export interface ErrorEntry {
  code: number;
  msg: string;
  retry?: boolean;
  reason?: unknown;
  cause?: unknown;
}

/** `hasMutations`: repeating the request would do them again. */
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

/** Of an answer of which nothing has left. */
export const statusOf = (error: unknown): number => (error instanceof SqlError ? error.status : 500);
