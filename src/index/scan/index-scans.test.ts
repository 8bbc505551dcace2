import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IndexScan } from '#sqlpp/datastore/indexes.ts';
import { SqlError } from '#sqlpp/errors/sql-error.ts';
import { aScan } from '../../../test/support/index-scan.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { aDefinition } from '../../../test/support/simple-index-language.ts';
import { IndexProgress } from '../index-progress.ts';
import { KeyWriter } from '../keys/key-writer.ts';
import type { KeyInterval } from '../spans/intervals.ts';
import { MissingIndexFileError, type PageRequest, type StoredRow } from '../store/index-store.ts';
import { IndexScans } from './index-scans.ts';

function complete(): IndexProgress {
  const progress = new IndexProgress();
  progress.setComplete(true);
  return progress;
}

test('a damaged key ends a scan and a count with an error to retry, and the index is built again', async () => {
  const index = aDefinition(['`n`', '`m`']);
  const damaged: StoredRow = { key: Buffer.from([99]), id: 'a' };
  const found = { report: { state: 'online', generation: 1 }, progress: complete() };
  const reported: string[] = [];
  let closed = 0;
  const reader = {
    page: () => [damaged],
    count: ({ accepts }: KeyInterval) => Number(accepts?.(damaged.key)),
    refresh: () => {},
    close: () => void closed++,
  };
  const scans = new IndexScans({
    catalog: { find: () => found, indexesOf: () => [], onChange: () => ({ stop: () => {} }) } as never,
    readers: { open: () => reader as never },
    clock: new ManualClock(),
    directions: () => [{ isDescending: false }, { isDescending: false }],
    damaged: (_, reason) => void reported.push(reason.message),
  });
  const low = { value: 1, isInclusive: true };
  const scan = aScan({ index, keys: [0] });
  const isToRetry = (error: unknown) =>
    error instanceof SqlError &&
    error.code === 5000 &&
    /cannot be read and is built again/.test(error.message);
  for (const spans of [scan.spans, [{ ranges: [{ low }, { low }] }]])
    await assert.rejects(async () => {
      for await (const _ of scans.scan({ ...scan, spans }));
    }, isToRetry);
  assert.deepEqual(reported, Array(2).fill('index key, byte 0: has the unknown type 99'));
  assert.equal(closed, 2);
  scans.close();
});

test('an index is not built again because the disk, memory or file descriptors are used up', async () => {
  const found = { report: { state: 'online', generation: 1 }, progress: complete() };
  const failure = (errcode: number) => Object.assign(new Error(`SQLite ${errcode}`), { errcode });
  const reported: string[] = [];
  let errcode = 0;
  const reader = {
    page: () => {
      throw failure(errcode);
    },
    refresh: () => {},
    close: () => {},
  };
  const scans = new IndexScans({
    catalog: { find: () => found, indexesOf: () => [], onChange: () => ({ stop: () => {} }) } as never,
    readers: { open: () => reader as never },
    clock: new ManualClock(),
    directions: () => [{ isDescending: false }],
    damaged: (_, reason) => void reported.push(reason.message),
  });
  const scan = aScan({ index: aDefinition(['`n`']), spans: [{ ranges: [] }], hasManyRows: true });
  const [busy, noMemory, full, cannotOpen, corrupt] = [261, 7, 13, 14, 11];
  for (errcode of [busy, noMemory, full, cannotOpen])
    await assert.rejects(scans.scan(scan).next(), {
      code: 5000,
      isRetryable: true,
      message: /cannot be read now/,
    });
  assert.deepEqual(reported, []);
  errcode = corrupt;
  await assert.rejects(scans.scan(scan).next(), { code: 5000, message: /is built again/ });
  assert.deepEqual(reported, ['SQLite 11']);
  scans.close();
});

test('a file that is missing while it is replaced is waited for, and not reported as damaged', () => {
  const progress = complete();
  const found = { report: { state: 'online', generation: 1 }, progress };
  const scans = new IndexScans({
    catalog: { find: () => found, indexesOf: () => [], onChange: () => ({ stop: () => {} }) } as never,
    readers: {
      open: () => {
        progress.setComplete(false); // between the first check and this call
        throw new MissingIndexFileError('the file does not exist');
      },
    },
    clock: new ManualClock(),
    directions: () => [{ isDescending: false }],
    damaged: (_, reason) => assert.fail(reason),
  });
  assert.equal(scans.scanNow(aScan({ index: aDefinition(['`n`']), spans: [{ ranges: [] }] })), 'waits');
  scans.close();
});

test('an index that was dropped and whose file is gone is reported as not found, and not built again', async () => {
  const progress = complete();
  const found = { report: { state: 'online', generation: 1 }, progress };
  const reported: string[] = [];
  const scans = new IndexScans({
    catalog: { find: () => found, indexesOf: () => [], onChange: () => ({ stop: () => {} }) } as never,
    readers: {
      open: () => {
        throw new MissingIndexFileError('the file does not exist');
      },
    },
    clock: new ManualClock(),
    directions: () => [{ isDescending: false }],
    damaged: (_, reason) => void reported.push(reason.message),
  });
  const scan = aScan({ index: aDefinition(['`n`']) });
  const codeOf = (act: () => unknown): number => {
    try {
      act();
    } catch (error) {
      return (error as SqlError).code;
    }
    return 0;
  };
  assert.equal(
    codeOf(() => scans.scanNow(scan)),
    5000,
  );
  progress.markDropped();
  assert.equal(
    codeOf(() => scans.scanNow(scan)),
    12016,
  );
  await assert.rejects(scans.scan({ ...scan, hasManyRows: true }).next(), { code: 12016 });
  assert.equal(reported.length, 1);
  scans.close();
});

test('a scan of spans without rows gives the thread to other requests between them, and while it encodes them', async () => {
  const found = { report: { state: 'online', generation: 1 }, progress: complete() };
  const scans = new IndexScans({
    catalog: { find: () => found, indexesOf: () => [], onChange: () => ({ stop: () => {} }) } as never,
    readers: { open: () => ({ page: () => [], refresh: () => {}, close: () => {} }) as never },
    clock: new ManualClock(),
    directions: () => [{ isDescending: false }],
    damaged: () => {},
  });
  let pauses = 0;
  const scan = aScan({
    index: aDefinition(['`n`']),
    spans: Array.from({ length: 2_000 }, (_, value) => {
      const bound = { value: value * 2, isInclusive: true };
      return { ranges: [{ low: bound, high: bound }] };
    }),
    limit: Number.POSITIVE_INFINITY,
    yieldIfDue: () => {
      pauses++;
      return undefined;
    },
  });
  for await (const _ of scans.scan(scan)) assert.fail('there are no rows');
  const encodedWithoutPause = 512;
  assert.equal(pauses, 2_000 + Math.ceil(2_000 / encodedWithoutPause));
  scans.close();
});

test('a scan whose pages have no wanted row gives the thread to other requests after each, and can be ended then', async () => {
  const found = { report: { state: 'online', generation: 1 }, progress: complete() };
  const writer = new KeyWriter(64);
  const stored = Array.from({ length: 100_000 }, (_, at): StoredRow => {
    writer.truncate();
    writer.write(at);
    writer.write(0);
    return { key: writer.copy(), id: `d${at}` };
  });
  const scans = new IndexScans({
    catalog: { find: () => found, indexesOf: () => [], onChange: () => ({ stop: () => {} }) } as never,
    readers: {
      open: () => ({ page: pageOf.bind(null, stored), refresh: () => {}, close: () => {} }) as never,
    },
    clock: new ManualClock(),
    directions: () => [{ isDescending: false }, { isDescending: false }],
    damaged: (_, reason) => assert.fail(reason),
  });
  const aborting = new AbortController();
  let pauses = 0;
  const one = { value: 1, isInclusive: true };
  const scan = aScan({
    index: aDefinition(['`n`', '`m`']),
    spans: [{ ranges: [{ low: { value: -1, isInclusive: true } }, { low: one, high: one }] }],
    limit: Number.POSITIVE_INFINITY,
    signal: aborting.signal,
    yieldIfDue: () => {
      if (++pauses === 3) aborting.abort(new Error('ended'));
      return undefined;
    },
  });
  const rows = scans.scan(scan);
  await assert.rejects(rows.next(), /ended/);
  assert.equal(pauses, 3);
  scans.close();
});

test('a scan has all rows of its intervals once, in order, for every number of rows and limit', async () => {
  const index = aDefinition(['`n`']);
  const found = { report: { state: 'online', generation: 1 }, progress: complete() };
  const firstPageRows = 64;
  for (const count of [0, 1, firstPageRows - 1, firstPageRows, firstPageRows + 1, 1_300]) {
    const stored = Array.from({ length: count }, (_, at): StoredRow => ({ key: keyOf(at), id: `d${at}` }));
    const pages: PageRequest[] = [];
    const reader = {
      page: (interval: KeyInterval, page: PageRequest) => {
        pages.push(page);
        return pageOf(stored, interval, page);
      },
      refresh: () => {},
      close: () => {},
    };
    const scans = new IndexScans({
      catalog: { find: () => found, indexesOf: () => [], onChange: () => ({ stop: () => {} }) } as never,
      readers: { open: () => reader as never },
      clock: new ManualClock(),
      directions: () => [{ isDescending: false }],
      damaged: (_, reason) => assert.fail(reason),
    });
    for (const limit of [1, firstPageRows, firstPageRows + 1, Number.POSITIVE_INFINITY])
      for (const isDistinct of [false, true])
        for (const isReverse of [false, true]) {
          pages.length = 0;
          const scan = aScan({ index, isReverse, isDistinct, limit });
          const ids: string[] = [];
          for await (const rows of scans.scan(scan)) ids.push(...rows.map(({ id }) => id));
          const wanted = stored.map(({ id }) => id);
          if (isReverse) wanted.reverse();
          assert.deepEqual(ids, wanted.slice(0, limit), `${count} rows, limit ${limit}`);
          // Only the first page may be read outside of the snapshot, and only if the answer has no other.
          assert.ok(pages.slice(1).every(({ isOnly }) => !isOnly));
          if (pages.length > 1) assert.equal(pages[1]?.after, null);
          const now = scans.scanNow(scan);
          const few = count < firstPageRows || (limit <= firstPageRows && !isDistinct);
          assert.deepEqual(Array.isArray(now) ? now.map(({ id }) => id) : now, few ? ids : 'many');
          pages.length = 0;
          for await (const _rows of scans.scan({ ...scan, hasManyRows: true }));
          assert.ok(pages.every(({ isOnly }) => !isOnly));
          const vector = { kind: 'at', vector: new Map() } as const;
          assert.equal(scans.scanNow({ ...scan, consistency: vector }), 'waits');
          assert.equal(scans.scanNow({ ...scan, changed: new Map([['d', null]]) }), 'many');
        }
    scans.close();
  }
});

test('scans of one page may share a snapshot for a second, but no consistent scan and none of several pages', async () => {
  const clock = new ManualClock();
  const progress = complete();
  const found = { report: { state: 'online', generation: 1 }, progress };
  let calls: string[] = [];
  const reader = {
    page: (_: KeyInterval, { isOnly = false, commits }: PageRequest) => {
      calls.push(isOnly ? `page of ${commits ?? 'the newest'}` : 'page');
      return [];
    },
    refresh: () => void calls.push('refresh'),
    close: () => {},
  };
  const scans = new IndexScans({
    catalog: { find: () => found, indexesOf: () => [], onChange: () => ({ stop: () => {} }) } as never,
    readers: { open: () => reader as never },
    clock,
    directions: () => [{ isDescending: false }],
    damaged: (_, reason) => assert.fail(reason),
  });
  const scan = aScan({ index: aDefinition(['`n`']) });
  const callsOf = async (act: () => unknown): Promise<string[]> => {
    calls = [];
    await act();
    return calls;
  };
  const scanAllRows = async (more: Partial<IndexScan>) => {
    for await (const _rows of scans.scan({ ...scan, ...more }));
  };
  assert.deepEqual(await callsOf(() => scans.scanNow(scan)), ['page of 0']);
  progress.publish();
  assert.deepEqual(await callsOf(() => scans.scanNow(scan)), ['page of 1']);
  assert.deepEqual(await callsOf(() => scanAllRows({})), ['page of 1']);
  const consistency = { kind: 'at', vector: new Map() } as const;
  assert.deepEqual(await callsOf(() => scanAllRows({ consistency })), ['page of the newest']);
  assert.deepEqual(await callsOf(() => scanAllRows({ hasManyRows: true })), ['refresh', 'page', 'refresh']);
  assert.deepEqual(await callsOf(() => clock.advance(999)), []);
  assert.deepEqual(await callsOf(() => clock.advance(1)), ['refresh']);
  assert.deepEqual(await callsOf(() => clock.advance(10_000)), [], 'refreshed again without a scan');
  scans.scanNow(scan);
  assert.deepEqual(await callsOf(() => clock.advance(1_000)), ['refresh']);
  scans.close();
});

test('a scan that continues with a later snapshot ends with an error to retry if the index has lost rows since', async () => {
  const clock = new ManualClock();
  const progress = complete();
  const found = { report: { state: 'online', generation: 1 }, progress };
  const page = (_: KeyInterval, { limit }: PageRequest) =>
    Array.from({ length: limit }, (): StoredRow => ({ key: keyOf(1), id: 'a' }));
  const scans = new IndexScans({
    catalog: { find: () => found, indexesOf: () => [], onChange: () => ({ stop: () => {} }) } as never,
    readers: { open: () => ({ page, refresh: () => {}, close: () => {} }) as never },
    clock,
    directions: () => [{ isDescending: false }],
    damaged: (_, reason) => assert.fail(reason),
  });
  const rows = scans.scan(
    aScan({ index: aDefinition(['`n`']), spans: [{ ranges: [] }], limit: Number.POSITIVE_INFINITY }),
  );
  assert.equal((await rows.next()).done, false);
  progress.setComplete(false);
  assert.equal((await rows.next()).done, false, 'the snapshot has all rows');
  const snapshotMs = 30_000;
  clock.advance(snapshotMs);
  await assert.rejects(rows.next(), {
    code: 5000,
    isRetryable: true,
    message: /lost the rows of some documents/,
  });
  scans.close();
});

test('a scan whose index was dropped closes its reader, since the file takes its space until then', async () => {
  const found = { report: { state: 'online', generation: 1 }, progress: complete() };
  let isDropped = false;
  let closed = 0;
  const writer = new KeyWriter(64);
  writer.write(1, false);
  const row: StoredRow = { key: writer.copy(), id: 'a' };
  const page = (_: KeyInterval, { limit }: PageRequest) => Array.from({ length: limit }, () => row);
  const reader = { page, refresh: () => {}, close: () => void closed++ };
  const find = () => (isDropped ? undefined : found);
  const scans = new IndexScans({
    catalog: { find, indexesOf: () => [], onChange: () => ({ stop: () => {} }) } as never,
    readers: { open: () => reader as never },
    clock: new ManualClock(),
    directions: () => [{ isDescending: false }],
    damaged: () => {},
  });
  const scan = aScan({
    index: aDefinition(['`n`']),
    spans: [{ ranges: [] }],
    hasManyRows: true,
    limit: 1_000,
  });
  const before = scans.scan(scan);
  await before.next();
  await before.return(undefined);
  assert.equal(closed, 0);
  const rows = scans.scan(scan);
  assert.equal((await rows.next()).done, false);
  isDropped = true;
  await rows.return(undefined);
  assert.equal(closed, 1);
  scans.close();
});

const keyOf = (at: number): Buffer => Buffer.from([5, at >> 8, at & 0xff]);

function pageOf(
  stored: readonly StoredRow[],
  _: KeyInterval,
  { after, isReverse, limit }: PageRequest,
): StoredRow[] {
  const rows = isReverse ? stored.toReversed() : [...stored];
  const from = after === null ? 0 : rows.findIndex(({ id }) => id === after.id) + 1;
  return rows.slice(from, from + limit);
}
