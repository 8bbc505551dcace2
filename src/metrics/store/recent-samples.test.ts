import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FlatSample } from '../sample.ts';
import { RecentSamples } from './recent-samples.ts';

const itemsOf = (...buckets: string[]): FlatSample[] =>
  buckets.map((bucket, value) => ({ name: 'items', labels: { bucket }, value }));

const bucketsOf = (recent: RecentSamples) => recent.select([], 0, 1e9).map(({ labels }) => labels['bucket']);

test('new series are accepted in place of series that have no more samples', () => {
  const recent = new RecentSamples({ slots: 10, seriesMax: 3 });
  let second = 0;
  for (let round = 0; round < 20; round++) {
    const buckets = ['stays', `first${round}`, `second${round}`];
    for (let each = 0; each < 25; each++) recent.append(1000 * ++second, itemsOf(...buckets));
    assert.deepEqual(bucketsOf(recent), buckets);
    const [stays] = recent.select([], 0, 1e9);
    assert.equal(stays?.values.length, 10);
  }
});

test('series that have ended are removed as soon as there is no room for a new one', () => {
  const recent = new RecentSamples({ slots: 300, seriesMax: 3 });
  recent.append(1000, itemsOf('stays', 'ends', 'ends too'));
  for (let round = 2; round <= 4; round++) recent.append(1000 * round, itemsOf('stays', 'begins'));
  assert.deepEqual(bucketsOf(recent), ['stays', 'begins']);
});

test('recent samples start over after the clock was set back', () => {
  const recent = new RecentSamples({ slots: 10, seriesMax: 3 });
  for (const second of [100, 101, 102, 40, 41]) recent.append(second * 1000, itemsOf('a'));
  const [series] = recent.select([], 0, 1e9);
  assert.deepEqual([...(series?.timesMs ?? [])], [40_000, 41_000]);
});

test('a read returns the values of the last samples of each series, whether it is constant, changes or lacks samples', () => {
  const slots = 10;
  const recent = new RecentSamples({ slots, seriesMax: 5 });
  const valueAt: Record<string, (round: number) => number | undefined> = {
    constant: () => 7,
    'changes once': (round) => (round < 23 ? 1 : 2),
    'changes always': (round) => round,
    'misses rounds': (round) => (round % 7 === 3 ? undefined : 5),
    'begins late': (round) => (round < 17 ? undefined : 0),
  };
  for (let round = 0; round < 45; round++) {
    const samples = Object.entries(valueAt).flatMap(([bucket, at]): FlatSample[] => {
      const value = at(round);
      return value === undefined ? [] : [{ name: 'items', labels: { bucket }, value }];
    });
    recent.append(1000 * round, samples);
    const first = Math.max(round - slots + 1, 0);
    const rounds = Array.from({ length: round - first + 1 }, (_, at) => first + at);
    for (const [bucket, value] of Object.entries(valueAt)) {
      const [found] = recent.select([], 0, 1e9).filter(({ labels }) => labels['bucket'] === bucket);
      const expected = rounds.filter((at) => value(at) !== undefined);
      assert.deepEqual(
        [...(found?.timesMs ?? [])],
        expected.map((at) => 1000 * at),
        bucket,
      );
      assert.deepEqual([...(found?.values ?? [])], expected.map(value), bucket);
    }
  }
});
