// Commits and rolls back: records the attempt, stages its documents, writes the outcome to the record, and applies it to the documents.

import { DataPortError } from '#client/data-port-error.ts';
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import type { KeyspaceName } from '#sqlpp/datastore/keyspace.ts';
import { SqlError, sqlError, sqlErrorWith } from '#sqlpp/errors/sql-error.ts';
import { atrIdFor } from './atr-ids.ts';
import { AttemptRecord } from './attempt-record.ts';
import { cleanUp } from './clean-up.ts';
import type { LostAttempts } from './lost-attempts.ts';
import { OtherAttempts } from './other-attempts.ts';
import type { StagedChange } from './staged-change.ts';
import { Staging } from './staging.ts';
import type { Transaction } from './transaction.ts';
import type { TransactionData } from './transaction-data.ts';
import {
  ambiguousCommit,
  commitFailure,
  expired,
  failedPostCommit,
  rollbackFailure,
} from './transaction-failure.ts';

export interface EndingParts {
  readonly data: TransactionData;
  readonly clock: Clock;
  readonly random: Random;
  readonly lost: Pick<LostAttempts, 'began' | 'ended'>;
}

export async function commit(transaction: Transaction, parts: EndingParts): Promise<void> {
  const changes = transaction.changes.all();
  if (changes.length === 0 && !transaction.start.isRecorded) return;
  const ending = new Ending(transaction, parts);
  await ending.run(() => ending.commit(changes));
}

export async function rollback(transaction: Transaction, parts: EndingParts): Promise<void> {
  if (!transaction.start.isRecorded) return; // nothing was written to the data service
  const ending = new Ending(transaction, parts);
  const staged = transaction.changes.all().filter((change) => change.stagedByClient !== null);
  await ending.run(() => ending.rollback(staged));
}

class Ending {
  private readonly transaction: Transaction;
  private readonly parts: EndingParts;
  /** True while the record may contain the attempt. */
  private mayBeRecorded = false;

  constructor(transaction: Transaction, parts: EndingParts) {
    this.transaction = transaction;
    this.parts = parts;
  }

  /** Runs the end of the transaction and reports an attempt that remains for the clean-up. */
  async run(end: () => Promise<void>): Promise<void> {
    try {
      await end();
    } finally {
      if (this.transaction.record !== null) this.parts.lost.ended(this.mayBeRecorded);
    }
  }

  async commit(changes: readonly StagedChange[]): Promise<void> {
    const { start } = this.transaction;
    let record: AttemptRecord | null = null;
    let staging: Staging | null = null;
    try {
      record = this.recordFor(changes);
      staging = this.stagingOf(record);
      this.mayBeRecorded = true;
      if (!start.isRecorded) await record.begin(start.id, start.transactionId, this.transaction.leftMs);
      await staging.stage(changes);
      if (this.transaction.leftMs <= 0) throw expired();
    } catch (error) {
      if (record !== null && staging !== null) await this.tryAbort(record, staging);
      throw commitFailure(error);
    }
    await this.complete(record, staging);
  }

  async rollback(changes: readonly StagedChange[]): Promise<void> {
    try {
      const record = this.recordFor(changes);
      this.mayBeRecorded = true;
      const staging = this.stagingOf(record);
      await staging.stage(changes.map((change) => ({ ...change, isUnstaged: false })));
      await this.abort(record, staging);
    } catch (error) {
      throw rollbackFailure(error);
    }
  }

  /** Applies a committed attempt: once the record says so, the transaction is committed. */
  private async complete(record: AttemptRecord, staging: Staging): Promise<void> {
    const { start } = this.transaction;
    try {
      await record.commit(start.id, staging.staged);
    } catch (error) {
      if (isAmbiguous(error)) throw ambiguousCommit(error);
      await this.tryAbort(record, staging);
      throw commitFailure(error);
    }
    try {
      const problem = await staging.commit();
      if (problem === null) await record.remove(start.id);
      // A clean-up removes the attempt when it has applied all changes.
      else if ((await record.read()).attempts.has(start.id)) throw sqlErrorWith(17099, {}, problem);
      this.mayBeRecorded = false;
    } catch (error) {
      throw failedPostCommit(error);
    }
  }

  /** Rolls back; the clean-up repeats what fails here. */
  private async tryAbort(record: AttemptRecord, staging: Staging): Promise<void> {
    try {
      await this.abort(record, staging);
    } catch {
      // The caller reports the original failure.
    }
  }

  private async abort(record: AttemptRecord, staging: Staging): Promise<void> {
    const { start } = this.transaction;
    await record.abort(start.id, staging.touched);
    const problem = await staging.rollback();
    if (problem !== null) throw sqlErrorWith(17099, {}, problem);
    await record.remove(start.id);
    this.mayBeRecorded = false;
  }

  private recordFor(changes: readonly StagedChange[]): AttemptRecord {
    const { transaction, parts } = this;
    const { keyspace, id } = recordLocationFor(transaction, changes);
    if (transaction.start.recordLocation === null && parts.data.find(keyspace) === 'no collection')
      throw noPlaceForRecord(keyspace.bucket);
    const record = new AttemptRecord(parts.data, parts.data.keyspace(keyspace), id, transaction.start);
    transaction.record = { keyspace, id };
    parts.lost.began(keyspace);
    return record;
  }

  private stagingOf(record: AttemptRecord): Staging {
    const { start } = this.transaction;
    const { data, random } = this.parts;
    const { id, keyspace } = record;
    return new Staging({
      data,
      random,
      limits: start,
      others: otherAttemptsOf(data, this.transaction),
      attempt: { ...start, record: { id, keyspace: keyspace.name } },
    });
  }
}

export const otherAttemptsOf = (data: TransactionData, { start }: Transaction): OtherAttempts =>
  new OtherAttempts(
    data,
    (record, attempt, entry) => cleanUp({ data, isDropped: () => false }, record, attempt, entry),
    start,
  );

/** The collection that the transaction named, else the default collection of its first document's bucket. */
function recordLocationFor(
  { start }: Transaction,
  [first]: readonly StagedChange[],
): { keyspace: KeyspaceName; id: string } {
  const { recordLocation: wanted } = start;
  const bucket = wanted?.bucket ?? first?.keyspace.name.bucket ?? '';
  const { scope = '_default', collection = '_default' } = wanted ?? {};
  const id = wanted?.id ?? atrIdFor(first?.id ?? '');
  return { keyspace: { namespace: 'default', bucket, scope, collection }, id };
}

const noPlaceForRecord = (bucket: string): SqlError =>
  sqlError(
    17099,
    `bucket ${bucket} has no default collection, which has the records of transactions unless the request parameter or the setting atrcollection names another collection`,
  );

/** True if the request may have succeeded without a reply. */
function isAmbiguous(error: unknown): boolean {
  if (error instanceof DataPortError) return true;
  return error instanceof SqlError && (error.code === 12008 || (error.code === 17099 && !error.isRetryable));
}
