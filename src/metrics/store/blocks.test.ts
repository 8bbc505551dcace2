import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { Blocks, SampleBudget } from './blocks.ts';
import type { StoreFiles } from './files.ts';

/** A folder in memory. */
function aFolder(): StoreFiles {
  const files = new Map<string, Buffer>();
  return {
    list: async () => [],
    write: async (name, parts) => void files.set(name, Buffer.concat(parts)),
    open: async (name) => ({
      read: async (offset, length) => (files.get(name) as Buffer).subarray(offset, offset + length),
      close: async () => {},
    }),
  } as Partial<StoreFiles> as StoreFiles;
}

test('a search for few of many series lets other work of the thread run', async () => {
  let [turns, nowMs] = [0, 0];
  // Each look at the clock is a millisecond later.
  const clock = {
    monotonicMs: () => nowMs++,
    soon(callback: () => void) {
      turns++;
      setImmediate(callback);
    },
  };
  const bounds = { spanMs: 1_000, retention: { ageMs: 1e9, bytes: 1e9 }, samplesMax: 1e9 };
  const blocks = new Blocks({ files: aFolder(), log: silentLog, bounds, clock });
  const chunk = { firstMs: 1, lastMs: 1, count: 1, bytes: Buffer.alloc(1) };
  const series = Array.from({ length: 1_000 }, (_, n) => ({
    labels: { __name__: 'm', n: String(n) },
    chunks: [chunk],
  }));
  await blocks.add({ startMs: 0, version: 0 }, series);
  const query = { fromMs: 0, toMs: 1_000, budget: new SampleBudget(1e9) };
  const found = await blocks.select(({ n }) => n === '7', [], query);
  assert.deepEqual(
    found.series.map(({ labels }) => labels['n']),
    ['7'],
  );
  assert.ok(turns >= 100, `${turns} turns`);
});
