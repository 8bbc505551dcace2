import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Clock } from '#ports/clock.ts';
import { type Log, silentLog } from '#ports/log.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { FlatSample } from '../sample.ts';
import { FolderStoreFiles } from './files.adapter.ts';
import { recentSeriesMax, TimeSeriesStore } from './store.ts';

const startMs = 1_700_006_400_000;
/** The ten-second samples begin in a later time span. */
const laterMs = 3 * 3_600_000;

function aFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'divan-store-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Each reading advances the time, so that every check finds the time slice used up. */
class BusyClock extends ManualClock {
  turns = 0;

  override monotonicMs(): number {
    this.advance(10);
    return super.monotonicMs();
  }

  override soon(callback: () => void): void {
    this.turns++;
    super.soon(callback);
  }
}

function aStore(
  folder: string,
  { log = silentLog, clock = new ManualClock(startMs) }: { log?: Log; clock?: Clock } = {},
): TimeSeriesStore {
  const files = {
    fine: new FolderStoreFiles(join(folder, 'fine')),
    coarse: new FolderStoreFiles(join(folder, 'coarse')),
  };
  return new TimeSeriesStore({ files, clock, log });
}

test('a series continues from five-minute to ten-second samples with its labels in any order', async (t) => {
  const folder = aFolder(t);
  const before = aStore(folder);
  await before.open();
  before.append(startMs, [{ name: 'ops', labels: { bucket: 'a', op: 'get' }, value: 1 }]);
  await before.close();
  rmSync(join(folder, 'fine'), { recursive: true });
  const store = aStore(folder);
  await store.open();
  store.append(startMs + laterMs, [{ name: 'ops', labels: { op: 'get', bucket: 'a' }, value: 2 }]);
  const named = [{ label: '__name__', operator: '=', value: 'ops' } as const];
  const { series } = await store.select(named, startMs, startMs + laterMs);
  assert.deepEqual(
    series.map(({ values }) => [...values]),
    [[1, 2]],
  );
  await store.close();
});

test('series beyond the limit of samples by the second are logged once', (t) => {
  const logged: unknown[] = [];
  const log = { ...silentLog, warn: (event: string, fields?: object) => logged.push({ event, ...fields }) };
  const store = aStore(aFolder(t), { log: log as Log });
  const samples = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ name: 'ops', labels: { bucket: String(n) }, value: 1 }));
  store.appendRecent(startMs, samples(recentSeriesMax));
  assert.deepEqual(logged, []);
  for (const second of [1, 2]) store.appendRecent(startMs + second * 1_000, samples(recentSeriesMax + 1));
  assert.deepEqual(logged, [
    { event: 'metrics.too_many_series', limit: recentSeriesMax, resolutionMs: 1_000 },
  ]);
});

/** Samples of this many series, not in the order of their labels. */
const manySeries = (count: number): FlatSample[] =>
  Array.from({ length: count }, (_, n) => ({
    name: 'ops',
    labels: { bucket: `b${(n * 7) % count}` },
    value: n,
  }));

test('a read computes the key of each series once, although its series are sorted by the keys', async (t) => {
  const count = 200;
  const store = aStore(aFolder(t));
  await store.open();
  store.append(startMs, manySeries(count));
  const stringify = t.mock.method(JSON, 'stringify');
  const { series } = await store.select([], startMs, startMs);
  assert.equal(stringify.mock.callCount(), count);
  stringify.mock.restore();
  const buckets = series.map(({ labels }) => labels['bucket'] ?? '');
  assert.deepEqual(buckets, buckets.toSorted());
  assert.equal(buckets.length, count);
  await store.close();
});

test('a read of many series yields to other work while it collects them, and while it decodes them', async (t) => {
  const count = 50;
  const clock = new BusyClock(startMs);
  const store = aStore(aFolder(t), { clock });
  await store.open();
  store.append(startMs, manySeries(count));
  clock.turns = 0;
  assert.equal((await store.select([], startMs, startMs)).series.length, count);
  assert.equal(clock.turns, 2 * count);
  await store.close();
});
