import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeRows } from './written-rows.ts';

function target(characters: number, parts: Iterable<string> | null = null) {
  const { signal, abort } = aborting();
  const events: string[] = [];
  const slices = {
    pause: async () => {
      events.push('pause');
    },
  };
  const state = { isReady: true };
  const writer = {
    row: () => void events.push('row'),
    beginRow: () => {
      events.push('begin');
      return { text: (text: string) => void events.push(text.slice(0, 1)) };
    },
    get isReady() {
      return state.isReady;
    },
    ready: async () => {
      events.push('ready');
      state.isReady = true;
    },
  };
  const engine = { textOf: () => 'x'.repeat(characters), partsOf: () => parts };
  return { events, abort, state, parts: { engine, writer, slices, signal } };
}

function aborting() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort(new Error('aborted')) };
}

test('other requests run between long rows, and not between short ones', async () => {
  const short = target(100);
  assert.equal(writeRows([1, 2, 3], short.parts), undefined);
  assert.deepEqual(short.events, ['row', 'row', 'row']);
  const long = target(150 << 10);
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

test('a long row is written in parts, with pauses, and waits for a client that does not read', async () => {
  const parts = ['', '', '', '', ...'abcdef'].map((text) => text.repeat(100 << 10));
  const { events, state, parts: rowsTarget } = target(0, parts);
  state.isReady = false;
  await writeRows([1], rowsTarget);
  assert.deepEqual(events, ['pause', 'ready', 'begin', 'a', 'b', 'c', 'pause', 'd', 'e', 'f', 'pause']);
});

test('an aborted request writes a long row that it has begun to its end, and begins no other', async () => {
  const parts = [...'abcdef'].map((text) => text.repeat(100 << 10));
  for (const [text, expected] of [
    [parts, ['begin', 'a', 'b', 'c', 'pause', 'd', 'e', 'f', 'pause']],
    [['', '', '', '', ...parts], ['pause']],
  ] as const) {
    const { events, abort, state, parts: rowsTarget } = target(0, text);
    state.isReady = false;
    const writing = writeRows([1, 2], rowsTarget);
    abort();
    await assert.rejects(writing as Promise<void>, { message: 'aborted' });
    assert.deepEqual(
      events.filter((event) => event !== 'ready'),
      expected.length > 1 ? [...expected, 'pause'] : expected,
    );
  }
});
