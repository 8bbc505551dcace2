import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BucketClient } from '#client/bucket-client.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { Status } from '#wire/status.ts';
import { readRecords } from './attempt-record.ts';
import type { DataLimits, TransactionData } from './transaction-data.ts';

const keyspace: Keyspace = {
  name: { namespace: 'default', bucket: 'b', scope: '_default', collection: '_default' },
  bucketUuid: 'u',
  scopeId: 0,
  collectionId: 0,
};
const limits: DataLimits = { durability: 'none', kvTimeoutMs: 1_000 };

/** Data whose reads have the status. */
const dataWith = (status: number): TransactionData => {
  const client = { lookupMany: async () => [status] } as unknown as BucketClient;
  const withTimeout: TransactionData['withTimeout'] = (_keyspace, _limits, use) =>
    use(client, new AbortController().signal);
  return { withTimeout } as TransactionData;
};

test('a record that does not exist has no attempts, one that cannot be read now is an error', async () => {
  for (const missing of [Status.keyNotFound, Status.unknownCollection])
    assert.equal((await readRecords(dataWith(missing), keyspace, ['r'], limits))[0]?.attempts.size, 0);
  for (const status of [Status.temporaryFailure, Status.notMyVbucket])
    await assert.rejects(readRecords(dataWith(status), keyspace, ['r'], limits), { code: 12008 });
});
