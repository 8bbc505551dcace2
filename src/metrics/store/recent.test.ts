import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FlatSample } from '../sample.ts';
import { Recent } from './recent.ts';

const itemsOf = (...buckets: string[]): FlatSample[] =>
  buckets.map((bucket, value) => ({ name: 'items', labels: { bucket }, value }));

const bucketsOf = (recent: Recent) => recent.select([], 0, 1e9).map(({ labels }) => labels['bucket']);

test('accepts new series once old ones are removed', () => {
  const recent = new Recent({ slots: 10, seriesMax: 3 });
  let second = 0;
  for (let round = 0; round < 20; round++) {
    const buckets = ['stays', `made${round}`, `also${round}`];
    for (let each = 0; each < 25; each++) recent.append(1000 * ++second, itemsOf(...buckets));
    assert.deepEqual(bucketsOf(recent), buckets);
    const [stays] = recent.select([], 0, 1e9);
    assert.equal(stays?.values.length, 10);
  }
});

test('starts over after the clock was set back', () => {
  const recent = new Recent({ slots: 10, seriesMax: 3 });
  for (const second of [100, 101, 102, 40, 41]) recent.append(second * 1000, itemsOf('a'));
  const [series] = recent.select([], 0, 1e9);
  assert.deepEqual([...(series?.timesMs ?? [])], [40_000, 41_000]);
});
