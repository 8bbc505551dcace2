// Takes over the changes that a client library has staged in the attempt which it continues here: statements see them, and commit or rollback
// includes them.
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { ResumedMutation } from './resumed-attempt.ts';
import type { Transaction } from './transaction.ts';
import type { LinkedDocument, TransactionData } from './transaction-data.ts';

/** Documents that are read at a time. */
const batchDocuments = 256;
const noBytes = new Uint8Array();

/** @throws SqlError 17006 when a document is not staged by this attempt */
export async function takeOver(
  data: TransactionData,
  transaction: Transaction,
  mutations: readonly ResumedMutation[],
): Promise<void> {
  for (let at = 0; at < mutations.length; at += batchDocuments) {
    const part = mutations.slice(at, at + batchDocuments);
    await Promise.all(part.map((mutation) => takeOne(data, transaction, mutation)));
  }
  transaction.changes.acceptStatement();
  transaction.checkMemory();
}

async function takeOne(
  data: TransactionData,
  { start, changes }: Transaction,
  { kind, keyspace: name, id }: ResumedMutation,
): Promise<void> {
  const keyspace = data.keyspace(name);
  const [found] = await data.linkedDocuments(keyspace, [id], start);
  if (found === undefined || !isStaged(found, start.id))
    throw sqlError(17006, `Start Transaction statement error: ${id} is not staged by attempt ${start.id}`);
  const { cas, staged, txn } = found;
  changes.put({
    keyspace,
    id,
    kind,
    cas,
    ownCas: cas,
    stagedByClient: kind,
    isUnstaged: false,
    expiration: txn?.aux?.docexpiry ?? 'keep',
    bytes: staged === undefined ? noBytes : Buffer.from(staged),
  });
}

const isStaged = ({ txn }: LinkedDocument, attempt: string): boolean => txn?.id?.atmpt === attempt;
