import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BucketClient } from '#client/bucket-client.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { Status } from '#wire/status.ts';
import { OtherAttempts } from './other-attempts.ts';
import type { DataLimits, TransactionData } from './transaction-data.ts';

const keyspace: Keyspace = {
  name: { namespace: 'default', bucket: 'b', scope: '_default', collection: '_default' },
  bucketUuid: 'u',
  scopeId: 0,
  collectionId: 0,
};
const limits: DataLimits = { durability: 'none', kvTimeoutMs: 1_000 };

test('an attempt that began after another of the same record was read conflicts, too', async () => {
  const attempts: Record<string, object> = { first: { st: 'PENDING', tst: '0xffffffffffffff7f', exp: 1 } };
  let reads = 0;
  const found = () => ({
    results: [{ status: Status.success, value: Buffer.from(JSON.stringify(attempts)) }, undefined],
  });
  const lookupMany = async () => {
    reads++;
    return [found()];
  };
  const client = { lookupMany } as unknown as BucketClient;
  const withTimeout: TransactionData['withTimeout'] = (_keyspace, _limits, use) =>
    use(client, new AbortController().signal);
  const data = { withTimeout, keyspace: () => keyspace } as unknown as TransactionData;
  const others = new OtherAttempts(data, () => Promise.resolve(), limits);
  const stagedBy = (atmpt: string) => ({ id: { atmpt }, atr: { id: 'record', bkt: 'b' } });
  assert.equal(await others.isConflicting(stagedBy('first')), true);
  attempts['second'] = attempts['first'] as object;
  assert.equal(await others.isConflicting(stagedBy('second')), true);
  assert.equal(await others.isConflicting(stagedBy('first')), true);
  assert.equal(reads, 2);
});
