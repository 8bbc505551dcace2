import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeRows } from './written-rows.ts';

function target(characters: number) {
  const { signal, abort } = aborting();
  const events: string[] = [];
  const slices = {
    pause: async () => {
      events.push('pause');
    },
  };
  const writer = { row: () => void events.push('row') };
  return {
    events,
    abort,
    parts: { engine: { textOf: () => 'x'.repeat(characters) }, writer, slices, signal },
  };
}

function aborting() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort(new Error('aborted')) };
}

test('others run between long rows, and not between short ones', async () => {
  const short = target(100);
  assert.equal(writeRows([1, 2, 3], short.parts), undefined);
  assert.deepEqual(short.events, ['row', 'row', 'row']);
  const long = target(600 << 10);
  await writeRows([1, 2, 3, 4], long.parts);
  assert.deepEqual(long.events, ['row', 'row', 'pause', 'row', 'row']);
});

test('a request that ends during a pause writes no further rows', async () => {
  const { events, abort, parts } = target(2 << 20);
  const writing = writeRows([1, 2], parts);
  abort();
  await assert.rejects(writing as Promise<void>, { message: 'aborted' });
  assert.deepEqual(events, ['row', 'pause']);
});
