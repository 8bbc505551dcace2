// Data of transactions that answers only reads of records.
import type { BucketClient } from '#client/bucket-client.ts';
import type { DataLimits, TransactionData } from '#query/transactions/transaction-data.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';

export const recordKeyspace: Keyspace = {
  name: { namespace: 'default', bucket: 'b', scope: '_default', collection: '_default' },
  bucketUuid: 'u',
  scopeId: 0,
  collectionId: 0,
};
export const recordLimits: DataLimits = { durability: 'none', kvTimeoutMs: 1_000 };

/** `lookupMany` answers the reads, as that of a BucketClient. */
export function dataOfReads(lookupMany: () => Promise<unknown[]>): TransactionData {
  const client = { lookupMany } as unknown as BucketClient;
  const withTimeout: TransactionData['withTimeout'] = (_keyspace, _limits, use) =>
    use(client, new AbortController().signal);
  return { withTimeout, keyspace: () => recordKeyspace } as unknown as TransactionData;
}
