// Failures of transactions, with the cause by which client libraries decide: whether to run the transaction again, and what to tell.
import { SqlError, sqlErrorWith } from '#sqlpp/errors/sql-error.ts';

export interface FailureCause {
  readonly cause?: unknown;
  /** What the client library tells its caller. */
  readonly raise: 'failed' | 'expired' | 'commit_ambiguous' | 'failed_post_commit';
  /** The whole transaction may succeed when it is run again. */
  readonly retry: boolean;
  /** The client has to roll back. */
  readonly rollback: boolean;
  readonly msg: string;
}

const failed = { raise: 'failed', retry: false, rollback: false } as const;

/** Another writer was faster: the transaction is worth running again. */
export const conflict = (key: string, reason: string): SqlError => {
  const cause: FailureCause = { ...failed, retry: true, msg: `${key}: ${reason}`, cause: reason };
  return sqlErrorWith(17007, { cause }, `Commit Transaction statement error: ${key}: ${reason}`);
};

export function commitFailure(error: unknown): SqlError {
  if (error instanceof SqlError && error.code >= 17000 && error.code < 18000) return error;
  const isRetryable = error instanceof SqlError && error.isRetryable;
  const msg = messageOf(error);
  const cause: FailureCause = { ...failed, retry: isRetryable, msg, cause: msg };
  return sqlErrorWith(17007, { cause }, `Commit Transaction statement error: ${msg}`);
}

/** It is not known whether the record says committed. */
export function ambiguousCommit(error: unknown): SqlError {
  const msg = messageOf(error);
  const cause: FailureCause = { ...failed, raise: 'commit_ambiguous', msg, cause: msg };
  return sqlErrorWith(17019, { cause }, `Commit was ambiguous: ${msg}`);
}

/** The transaction is committed; some documents show it only after clean-up. */
export function failedPostCommit(error: unknown): SqlError {
  const msg = messageOf(error);
  const cause: FailureCause = { ...failed, raise: 'failed_post_commit', msg, cause: msg };
  return sqlErrorWith(17018, { cause }, `Failed post commit: ${msg}`);
}

export function rollbackFailure(error: unknown): SqlError {
  const msg = messageOf(error);
  const cause: FailureCause = { ...failed, msg, cause: msg };
  return sqlErrorWith(17008, { cause }, `Rollback Transaction statement error: ${msg}`);
}

export const expired = (): SqlError => {
  const cause: FailureCause = { ...failed, raise: 'expired', msg: 'the transaction has timed out' };
  return sqlErrorWith(17010, { cause });
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
