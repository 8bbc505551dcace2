// Errors of transactions, with the cause from which client libraries decide whether to retry and which error to raise.
import { SqlError, sqlErrorWith } from '#sqlpp/errors/sql-error.ts';

export interface FailureCause {
  readonly cause?: unknown;
  /** The error that the client library raises. */
  readonly raise: 'failed' | 'expired' | 'commit_ambiguous' | 'failed_post_commit';
  /** True if a retry of the whole transaction may succeed. */
  readonly retry: boolean;
  /** True if the client must roll back. */
  readonly rollback: boolean;
  readonly msg: string;
}

const failed = { raise: 'failed', retry: false, rollback: false } as const;

/** A write conflict: the transaction should be retried. */
export const conflict = (key: string, reason: string): SqlError => {
  const cause: FailureCause = { ...failed, retry: true, msg: `${key}: ${reason}`, cause: reason };
  return sqlErrorWith(17007, { cause }, `Commit Transaction statement error: ${key}: ${reason}`);
};

export function commitFailure(error: unknown): SqlError {
  if (error instanceof SqlError && error.code >= 17000 && error.code < 17099) return error;
  const isRetryable = error instanceof SqlError && error.isRetryable;
  const msg = messageOf(error);
  const cause: FailureCause = { ...failed, retry: isRetryable, msg, cause: msg };
  return sqlErrorWith(17007, { cause }, `Commit Transaction statement error: ${msg}`);
}

/** The record may or may not say committed. */
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

/** An administrator has ended the transaction before its timeout. */
export const removed = (): SqlError => {
  const msg = 'the transaction was ended by DELETE FROM system:transactions';
  const cause: FailureCause = { ...failed, msg };
  return sqlErrorWith(17010, { cause }, `: ${msg}`);
};

export const expired = (): SqlError => {
  const cause: FailureCause = { ...failed, raise: 'expired', msg: 'the transaction has timed out' };
  return sqlErrorWith(17010, { cause });
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
