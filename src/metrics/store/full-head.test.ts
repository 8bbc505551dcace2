// A head that has as many series as it may have.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { FlatSample } from '../sample.ts';
import { FolderStoreFiles } from './files.adapter.ts';
import { Tier } from './tier.ts';

const spanMs = 7_200_000;
/** The start of a span. */
const startMs = 1_700_006_400_000;
const stepMs = 10_000;

const itemsOf = (...buckets: string[]): FlatSample[] =>
  buckets.map((bucket, value) => ({ name: 'items', labels: { bucket }, value }));

test('a tier begins another head where at most half of the series of a full one continue', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-head-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const tier = new Tier({
    files: new FolderStoreFiles(folder),
    clock: new ManualClock(startMs),
    log: silentLog,
    bounds: { spanMs, retention: { ageMs: 24 * spanMs, bytes: 1e9 }, seriesMax: 4, samplesMax: 1e6 },
  });
  await tier.open();
  const rounds = [
    itemsOf('a', 'b', 'c', 'd'),
    itemsOf('a', 'e'), // no room for the series e
    itemsOf('a', 'e'),
    itemsOf('a', 'e', 'f', 'g'),
    itemsOf('a', 'e', 'f', 'g', 'h'), // no room for h, and the others continue
  ];
  for (const [round, samples] of rounds.entries()) tier.append(startMs + round * stepMs, samples);
  await tier.written();
  const { series } = await tier.select([], startMs, startMs + spanMs);
  const counts = series.map(({ labels, timesMs }) => [labels['bucket'], timesMs.length]);
  assert.deepEqual(Object.fromEntries(counts), { a: 5, b: 1, c: 1, d: 1, e: 3, f: 2, g: 2 });
  await tier.close();
});
