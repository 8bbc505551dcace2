import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Bound, Span } from '#sqlpp/datastore/indexes.ts';
import type { Value } from '#sqlpp/values/value.ts';
import { printedSeed } from '../../../test/support/seed.ts';
import { KeyWriter } from '../keys/key-writer.ts';
import { intervalsOf, type KeyInterval, successor } from './intervals.ts';

const few: fc.Arbitrary<Value> = fc.constantFrom<Value>(undefined, null, false, 1, 2, 3, 'a', 'ab', 'b', [1]);
const bound: fc.Arbitrary<Bound> = fc.record({ value: few, isInclusive: fc.boolean() });
const range = fc.oneof(
  fc.record({ low: bound, high: bound }, { requiredKeys: [] }),
  few.map((value) => ({ low: { value, isInclusive: true }, high: { value, isInclusive: true } })),
);
const spans: fc.Arbitrary<Span[]> = fc.array(fc.record({ ranges: fc.array(range, { maxLength: 3 }) }), {
  maxLength: 4,
});

test('a key is in exactly one interval if a span contains its values, else in none', () => {
  const seed = printedSeed(console.log);
  const rows = fc.array(fc.array(few, { minLength: 3, maxLength: 3 }), { maxLength: 20 });
  const directions = fc.array(fc.record({ isDescending: fc.boolean() }), { minLength: 3, maxLength: 3 });
  fc.assert(
    fc.property(spans, rows, directions, (requested, tuples, order) => {
      const intervals = intervalsOf(requested, order);
      for (const tuple of tuples) {
        const key = keyOf(tuple, order);
        const found = intervals.filter((interval) => holds(interval, key)).length;
        const expected = requested.length === 0 || requested.some((span) => matches(span, tuple));
        assert.equal(found, Number(expected));
      }
    }),
    { numRuns: 5_000, seed },
  );
});

test('intervals ascend, so that a scan over them keeps the order of the index', () => {
  const spanOf = (value: Value) => ({
    ranges: [{ low: { value, isInclusive: true }, high: { value, isInclusive: true } }],
  });
  const intervals = intervalsOf([spanOf('b'), spanOf(3), spanOf('a'), spanOf(3)], [{ isDescending: false }]);
  assert.equal(intervals.length, 3);
  for (const [index, { start }] of intervals.entries()) {
    const end = intervals[index - 1]?.end;
    if (end) assert.ok(Buffer.compare(end, start) <= 0);
  }
});

test('an interval finds the keys of a hundred thousand values of a later component', () => {
  const values = Array.from({ length: 100_000 }, (_, at) => 2 * at);
  const requested = values.flatMap((value): Span[] => [
    { ranges: [{ low: { value: 0, isInclusive: false } }, pointOf(value), pointOf(value % 4)] },
    { ranges: [{ low: { value: 0, isInclusive: false } }, pointOf(value), pointOf('other')] },
  ]);
  const order = [{ isDescending: false }, { isDescending: true }, { isDescending: false }];
  const [interval, ...others] = intervalsOf(requested, order);
  assert.ok(interval);
  assert.equal(others.length, 0);
  for (let value = 0; value < 20_000; value++) {
    const isEven = value % 2 === 0;
    assert.equal(interval.accepts?.(keyOf([1, value, value % 4], order)), isEven);
    assert.equal(interval.accepts?.(keyOf([1, value, 'other'], order)), isEven);
    assert.equal(interval.accepts?.(keyOf([1, value, 'third'], order)), false);
  }
  assert.equal(interval.accepts?.(keyOf([1, 200_000, 0], order)), false);
});

const pointOf = (value: Value): Span['ranges'][number] => ({
  low: { value, isInclusive: true },
  high: { value, isInclusive: true },
});

test('intervals of many lists and ranges hold the keys that a span contains', () => {
  const seed = printedSeed(console.log);
  const manySpans = fc.array(fc.record({ ranges: fc.array(range, { minLength: 2, maxLength: 3 }) }), {
    minLength: 20,
    maxLength: 40,
  });
  const rows = fc.array(fc.array(few, { minLength: 3, maxLength: 3 }), { maxLength: 20 });
  const directions = fc.array(fc.record({ isDescending: fc.boolean() }), { minLength: 3, maxLength: 3 });
  fc.assert(
    fc.property(manySpans, fc.boolean(), rows, directions, (sent, isOpen, tuples, order) => {
      // With the same open range of the leading component all spans are one interval.
      const requested = isOpen ? sent.map(({ ranges: [, ...rest] }) => ({ ranges: [{}, ...rest] })) : sent;
      const intervals = intervalsOf(requested, order);
      for (const tuple of tuples) {
        const key = keyOf(tuple, order);
        const found = intervals.filter((interval) => holds(interval, key)).length;
        assert.equal(found, Number(requested.some((span) => matches(span, tuple))));
      }
    }),
    { numRuns: 500, seed },
  );
});

test('the successor of bytes sorts after all keys that begin with them', () => {
  assert.deepEqual(successor(Buffer.from([1, 2])), Buffer.from([1, 3]));
  assert.deepEqual(successor(Buffer.from([1, 0xff, 0xff])), Buffer.from([2]));
  assert.equal(successor(Buffer.from([0xff])), null);
});

function holds({ start, end, accepts }: KeyInterval, key: Buffer): boolean {
  const isWithin = Buffer.compare(key, start) >= 0 && (end === null || Buffer.compare(key, end) < 0);
  return isWithin && (accepts === null || accepts(key));
}

const encode = (value: Value): Buffer => keyOf([value], [{ isDescending: false }]);

const matches = (span: Span, tuple: readonly Value[]): boolean =>
  span.ranges.every(({ low, high }, position) => {
    const value = encode(tuple[position]);
    const fromLow = low === undefined ? 1 : Buffer.compare(value, encode(low.value));
    const toHigh = high === undefined ? 1 : Buffer.compare(encode(high.value), value);
    return (
      (fromLow > 0 || (fromLow === 0 && low?.isInclusive)) &&
      (toHigh > 0 || (toHigh === 0 && high?.isInclusive))
    );
  });

function keyOf(tuple: readonly Value[], directions: readonly { isDescending: boolean }[]): Buffer {
  const writer = new KeyWriter(1_000);
  for (const [at, value] of tuple.entries()) writer.write(value, directions[at]?.isDescending);
  return writer.copy();
}
