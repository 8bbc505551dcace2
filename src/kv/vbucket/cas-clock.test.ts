import assert from 'node:assert/strict';
import { test } from 'node:test';
import { advanceCas, nextCas, raiseCas } from './cas-clock.ts';
import { VbucketColumns } from './columns.ts';
import { Now } from './now.ts';

const lowMax = 0xffffffff;
const early = new Now();
early.set(1000, 0);

function aClock(high: number, low: number) {
  const columns = new VbucketColumns(2);
  columns.casHi[1] = high;
  columns.casLo[1] = low;
  return { columns, read: () => [columns.casHi[1], columns.casLo[1]] };
}

test('the next CAS is the time, or one more than the last value if the time is not above it', () => {
  const { columns, read } = aClock(0, 0);
  advanceCas(columns, 1, early);
  assert.deepEqual(read(), [early.casHi, early.casLo]);
  advanceCas(columns, 1, early);
  assert.deepEqual(read(), [early.casHi, early.casLo + 1]);
  assert.deepEqual([columns.casHi[0], columns.casLo[0]], [0, 0]);
});

test('a CAS is carried into the high word, when it is announced as when it is assigned', () => {
  const { columns, read } = aClock(9000, lowMax);
  const next = { casHi: 0, casLo: 0 };
  nextCas(columns, 1, early, next);
  assert.deepEqual(next, { casHi: 9001, casLo: 0 });
  advanceCas(columns, 1, early);
  assert.deepEqual(read(), [9001, 0]);
});

test('the clock is raised to values seen elsewhere, and never falls', () => {
  const { columns, read } = aClock(9000, 5);
  raiseCas(columns, 1, { hi: 9000, lo: 4, extra: 1 });
  assert.deepEqual(read(), [9000, 5]);
  raiseCas(columns, 1, { hi: 9000, lo: 4, extra: 2 });
  assert.deepEqual(read(), [9000, 6]);
  raiseCas(columns, 1, { hi: 9000, lo: lowMax, extra: 3 });
  assert.deepEqual(read(), [9001, 2]);
  raiseCas(columns, 1, { hi: 8999, lo: lowMax, extra: 0 });
  assert.deepEqual(read(), [9001, 2]);
});

test('the clock continues with the time after the highest value, and never assigns all ones or zero', () => {
  const { columns, read } = aClock(lowMax, lowMax - 2);
  advanceCas(columns, 1, early);
  assert.deepEqual(read(), [lowMax, lowMax - 1]);
  const next = { casHi: 0, casLo: 0 };
  nextCas(columns, 1, early, next);
  advanceCas(columns, 1, early);
  assert.deepEqual([next.casHi, next.casLo], [early.casHi, early.casLo]);
  assert.deepEqual(read(), [early.casHi, early.casLo]);
});
