// Data of transactions that answers only reads of records.
import type { BucketClient } from '#client/bucket-client.ts';
import { realClock } from '#ports/clock.ts';
import type { BucketClients } from '#query/data/bucket-clients.ts';
import { Keyspaces } from '#query/data/keyspaces.ts';
import { type DataLimits, TransactionData } from '#query/transactions/transaction-data.ts';
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
  const clients = { clientOf: async () => client } as unknown as BucketClients;
  const data = new TransactionData(clients, new Keyspaces(), realClock);
  return Object.assign(data, { keyspace: () => recordKeyspace });
}
