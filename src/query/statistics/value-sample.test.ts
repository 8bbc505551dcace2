import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomFrom } from '../../../test/support/random.ts';
import { ValueSample } from './value-sample.ts';

/** Returns a source of random numbers from 0 to below 1. */
const chances = () => {
  const seed = 14;
  const below = randomFrom(seed);
  return () => below(1_000_000) / 1_000_000;
};

test('each row has the same chance to be in the sample', () => {
  const chance = chances();
  let sum = 0;
  for (let round = 0; round < 40; round++) {
    const sample = new ValueSample({ rows: 50, bytes: 1 << 20 }, [false]);
    for (let at = 0; at < 1_000; at++) sample.offer(chance, () => `{"0":${at}}`);
    assert.deepEqual([sample.size, sample.seen], [50, 1_000]);
    sum += (sample.valuesAt(0) as number[]).reduce((total, value) => total + value, 0);
  }
  const mean = sum / 2_000;
  assert.ok(mean > 460 && mean < 540, `the mean of 0 to 999 is ${mean}`);
});

test('above its limit of bytes a sample drops every second row', () => {
  const sample = new ValueSample({ rows: 1_000, bytes: 10_000 }, [false]);
  for (let at = 0; at < 1_000; at++) sample.offer(chances(), () => `{"0":"${'x'.repeat(100)}"}`);
  assert.ok(sample.size > 10 && sample.size <= 86, `${sample.size}`);
  assert.equal(sample.seen, 1_000);
});

test('a sample keeps missing values, shortens long ones, and counts the elements of arrays', () => {
  const sample = new ValueSample({ rows: 9, bytes: 1 << 20 }, [false, true]);
  const offer = (row: object) => sample.offer(chances(), () => JSON.stringify(row));
  offer({ 0: null, 1: [1, 2] });
  offer({ 1: 'no array' });
  offer({ 0: 'x'.repeat(300), 1: Array(50).fill(1) });
  offer({ 0: ['x'.repeat(300)], 1: [{ a: 'x'.repeat(300) }] });
  offer({ 0: 'x'.repeat(300_000) });
  assert.deepEqual(sample.valuesAt(0), [null, undefined, 'x'.repeat(256), []]);
  assert.deepEqual(sample.valuesAt(1), [
    { count: 2, kept: [1, 2] },
    { count: 0, kept: [] },
    { count: 50, kept: Array(20).fill(1) },
    { count: 1, kept: [{}] },
  ]);
});
