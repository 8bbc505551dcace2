// Attempts of other transactions on documents that a transaction reads or writes: whether they conflict or have committed.
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { isDocumentId } from '../data/encoded-keys.ts';
import type { RecordedAttempt, TxnAttribute } from './attempt-json.ts';
import { AttemptRecord, isLost, type RecordedAttempts } from './attempt-record.ts';
import type { DataLimits, TransactionData } from './transaction-data.ts';

/** Cleans up a lost attempt. */
export type CleanUp = (record: AttemptRecord, attempt: string, entry: RecordedAttempt) => Promise<unknown>;

export class OtherAttempts {
  private readonly data: TransactionData;
  private readonly cleanUp: CleanUp;
  private readonly limits: DataLimits;
  /** Records by attempt, read once for all documents of one attempt: another attempt of the same record may have begun since. */
  private readonly read = new Map<
    string,
    Promise<{ record: AttemptRecord; found: RecordedAttempts } | null>
  >();

  constructor(data: TransactionData, cleanUp: CleanUp, limits: DataLimits) {
    this.data = data;
    this.cleanUp = cleanUp;
    this.limits = limits;
  }

  /** Whether another attempt prevents a write. Cleans up a lost attempt, so that a retry can succeed. */
  async isConflicting(txn: TxnAttribute): Promise<boolean> {
    const attempt = await this.attemptOf(txn);
    if (attempt === null) return false;
    const { record, entry, nowMs } = attempt;
    if (entry.st === 'COMPLETED' || entry.st === 'ROLLED_BACK') return false;
    if (isLost(entry, nowMs)) await this.cleanUp(record, txn.id?.atmpt ?? '', entry);
    return true;
  }

  /** Null if the record does not have the attempt. */
  async stateOf(txn: TxnAttribute): Promise<string | null> {
    return (await this.attemptOf(txn))?.entry.st ?? null;
  }

  private async attemptOf(txn: TxnAttribute) {
    const record = await this.recordOf(txn);
    const entry = record?.found.attempts.get(txn.id?.atmpt ?? '');
    return record === null || entry === undefined
      ? null
      : { record: record.record, entry, nowMs: record.found.nowMs };
  }

  private recordOf({ atr, id: attempt }: TxnAttribute) {
    const { id, bkt, scp = '_default', coll = '_default' } = atr ?? {};
    if (id === undefined || !isDocumentId(id) || bkt === undefined) return Promise.resolve(null);
    const name = JSON.stringify([bkt, scp, coll, id, attempt?.atmpt]);
    const reading = this.read.get(name) ?? this.readRecord(bkt, scp, coll, id);
    this.read.set(name, reading);
    return reading;
  }

  private async readRecord(bucket: string, scope: string, collection: string, id: string) {
    const keyspace = this.keyspaceOf(bucket, scope, collection);
    if (keyspace === null) return null;
    const record = new AttemptRecord(this.data, keyspace, id, this.limits);
    return { record, found: await record.read() };
  }

  private keyspaceOf(bucket: string, scope: string, collection: string): Keyspace | null {
    try {
      return this.data.keyspace({ namespace: 'default', bucket, scope, collection });
    } catch {
      return null; // the record was dropped with its collection
    }
  }
}
