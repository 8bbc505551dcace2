import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { dataOfReads, recordKeyspace, recordLimits } from '../../../test/support/record-reads.ts';
import { readRecords } from './attempt-record.ts';
import type { TransactionData } from './transaction-data.ts';

/** Data whose reads have the status. */
const dataWith = (status: number): TransactionData => dataOfReads(async () => [status]);

test('a record that does not exist has no attempts, one that cannot be read now is an error', async () => {
  for (const missing of [Status.keyNotFound, Status.unknownCollection])
    assert.equal(
      (await readRecords(dataWith(missing), recordKeyspace, ['r'], recordLimits))[0]?.attempts.size,
      0,
    );
  for (const status of [Status.temporaryFailure, Status.notMyVbucket, Status.internalError])
    await assert.rejects(readRecords(dataWith(status), recordKeyspace, ['r'], recordLimits), { code: 12008 });
});

test('a record in a vbucket that moves is read again', async () => {
  let reads = 0;
  const data = dataOfReads(async () => [++reads < 3 ? Status.temporaryFailure : Status.keyNotFound]);
  assert.equal((await readRecords(data, recordKeyspace, ['r'], recordLimits)).length, 1);
  assert.equal(reads, 3);
});

test('the attributes of a document in a vbucket that moves are read again', async () => {
  let reads = 0;
  const data = dataOfReads(async () => [++reads < 3 ? Status.temporaryFailure : Status.keyNotFound]);
  assert.deepEqual(await data.linkedDocuments(recordKeyspace, ['d'], recordLimits), [undefined]);
  assert.equal(reads, 3);
});
