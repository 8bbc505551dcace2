import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { dataOfReads, recordLimits } from '../../../test/support/record-reads.ts';
import { OtherAttempts } from './other-attempts.ts';

test('an attempt conflicts also if its record was read before it began, for another attempt', async () => {
  const attempts: Record<string, object> = { first: { st: 'PENDING', tst: '0xffffffffffffff7f', exp: 1 } };
  let reads = 0;
  const recordReply = () => ({
    results: [{ status: Status.success, value: Buffer.from(JSON.stringify(attempts)) }, undefined],
  });
  const data = dataOfReads(async () => {
    reads++;
    return [recordReply()];
  });
  const others = new OtherAttempts(data, () => Promise.resolve(), recordLimits);
  const stagedBy = (atmpt: string) => ({ id: { atmpt }, atr: { id: 'record', bkt: 'b' } });
  assert.equal(await others.isConflicting(stagedBy('first')), true);
  attempts['second'] = attempts['first'] as object;
  assert.equal(await others.isConflicting(stagedBy('second')), true);
  assert.equal(await others.isConflicting(stagedBy('first')), true);
  assert.equal(reads, 2);
});

test('an attempt whose record can have no such key does not exist', async () => {
  const data = dataOfReads(() => Promise.reject(new Error('the record is read')));
  const others = new OtherAttempts(data, () => Promise.resolve(), recordLimits);
  for (const id of ['', 'k'.repeat(251)])
    assert.equal(await others.stateOf({ id: { atmpt: 'a' }, atr: { id, bkt: 'b' } }), null);
});
