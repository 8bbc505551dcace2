// What the console says that a restore would change.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Backup } from '../../../console/src/pages/backup-answers.ts';
import {
  type PresentBucket,
  previewOf,
  type RestoreChoice,
} from '../../../console/src/pages/backup-preview.ts';

const backup = (
  date: string,
  type: string,
  items: number | undefined,
  overrides: Partial<Backup> = {},
): Backup => ({
  date,
  type,
  size: 1,
  complete: true,
  buckets: [
    {
      name: 'b',
      items: items ?? 0,
      tombstones: 2,
      scopes: {
        _default: { collections: { 0: { name: '_default', ...(items !== undefined && { items }) } } },
        s: { collections: { 8: { name: 'c', items: 1 } } },
      },
    },
  ],
  ...overrides,
});
const backups = [
  backup('2026-01-01', 'FULL', 1_000),
  backup('2026-01-02', 'FULL', 100),
  backup('2026-01-03', 'INCR', 10),
  backup('2026-01-04', 'INCR', 5, { complete: false }),
  backup('2026-01-05', 'INCR', 3),
];
const present = (...collections: string[]): ReadonlyMap<string, PresentBucket> =>
  new Map([['b', { documents: 7, collections: new Set(collections) }]]);
const choice: RestoreChoice = { createsBuckets: false, isForced: false };

test('the preview of a restore counts the documents of the backup and of those that it continues', () => {
  const now = present('_default._default', 's.c');
  const counts = (name: string): (number | null)[] =>
    previewOf(backups, name, now, choice).collections.map(({ documentsMax }) => documentsMax);
  assert.deepEqual(counts('2026-01-05'), [113, 3]);
  assert.deepEqual(counts('2026-01-03'), [110, 2]);
  assert.deepEqual(counts('2026-01-01'), [1_000, 1]);
  assert.equal(previewOf(backups, '2026-01-03', now, choice).deletionsMax, 4);
  const merged = [...backups.slice(0, 2), backup('2026-01-06', 'MERGE - FULL', undefined)];
  assert.deepEqual(
    previewOf(merged, '2026-01-06', now, choice).collections.map(({ documentsMax }) => documentsMax),
    [null, 1],
  );
});

test('the preview of a restore says what happens to buckets and collections that are there or missing', () => {
  const effects = (now: ReadonlyMap<string, PresentBucket>, change: Partial<RestoreChoice> = {}) => {
    const { collections, missing } = previewOf(backups, '2026-01-05', now, { ...choice, ...change });
    return { effects: collections.map(({ effect }) => effect), missing };
  };
  assert.deepEqual(effects(present('_default._default')), {
    effects: ['new ones are written', 'collection is created'],
    missing: [],
  });
  assert.deepEqual(effects(present('s.c'), { isForced: true }), {
    effects: ['none: was dropped', 'all are written'],
    missing: [],
  });
  assert.deepEqual(effects(new Map()), {
    effects: ['none: no such bucket', 'none: no such bucket'],
    missing: ['b'],
  });
  assert.deepEqual(effects(new Map(), { createsBuckets: true }), {
    effects: ['bucket is created', 'bucket is created'],
    missing: [],
  });
});
