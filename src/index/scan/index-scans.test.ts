import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IndexScan } from '#sqlpp/datastore/indexes.ts';
import { SqlError } from '#sqlpp/errors/sql-error.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { aDefinition } from '../../../test/support/simple-index-language.ts';
import { IndexProgress } from '../shared/index-progress.ts';
import type { KeyInterval } from '../spans/intervals.ts';
import type { StoredRow } from '../store/index-store.ts';
import { IndexScans } from './index-scans.ts';

test('a damaged key ends a scan and a count with an error to retry, and the index is built again', async () => {
  const index = aDefinition(['`n`', '`m`']);
  const damaged: StoredRow = { key: Buffer.from([99]), id: 'a' };
  const found = { report: { state: 'online', generation: 1 }, progress: new IndexProgress() };
  const reported: string[] = [];
  let closed = 0;
  const reader = {
    page: () => [damaged],
    count: ({ accepts }: KeyInterval) => Number(accepts?.(damaged.key)),
    refresh: () => {},
    close: () => void closed++,
  };
  const scans = new IndexScans({
    catalogue: { find: () => found, of: () => [], onChange: () => ({ stop: () => {} }) } as never,
    readers: { open: () => reader as never },
    clock: new ManualClock(),
    directions: () => [{ isDescending: false }, { isDescending: false }],
    damaged: (_, reason) => void reported.push(reason.message),
  });
  const low = { value: 1, inclusive: true };
  const scan: IndexScan = {
    index,
    spans: [],
    keys: [0],
    isReverse: false,
    isDistinct: false,
    offset: 0,
    limit: 10,
    consistency: { kind: 'not_bounded' },
    waitMs: 0,
    signal: new AbortController().signal,
  };
  const isToRetry = (error: unknown) =>
    error instanceof SqlError &&
    error.code === 5000 &&
    /cannot be read and is built again/.test(error.message);
  await assert.rejects(async () => {
    for await (const _ of scans.scan(scan));
  }, isToRetry);
  await assert.rejects(scans.count({ ...scan, spans: [{ ranges: [{ low }, { low }] }] }), isToRetry);
  assert.deepEqual(reported, Array(2).fill('index key, byte 0: has no type 99'));
  assert.equal(closed, 2);
  scans.close();
});
