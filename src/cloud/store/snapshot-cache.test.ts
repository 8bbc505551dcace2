import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SnapshotCache } from './snapshot-cache.ts';
import { StoreSnapshots } from './state.ts';

const entryBytes = 201;
const aKept = (change: object = {}) =>
  new SnapshotCache<string>({
    entriesMax: 100,
    bytesMax: 1_000_000,
    bytesOf: ({ length }) => length,
    ...change,
  });

function aStore() {
  const store = { state: 'a' };
  const snapshots = new StoreSnapshots({ read: () => store.state });
  return { store, now: async () => snapshots.present() };
}

const say = (text: string) => async () => text;

test('finds a value out once in a snapshot, and anew in the next', async () => {
  const kept = aKept();
  const { store, now } = aStore();
  assert.equal(await kept.of(await now(), 'k', say('first')), 'first');
  assert.equal(await kept.of(await now(), 'k', say('again')), 'first');
  assert.equal(kept.find(await now(), 'k'), 'first');
  assert.equal(kept.find(await now(), 'other'), undefined);
  const before = await now();
  store.state = 'b';
  assert.equal(kept.find(await now(), 'k'), undefined);
  assert.equal(await kept.of(await now(), 'k', say('second')), 'second');
  assert.equal(kept.find(before, 'k'), 'first');
  assert.equal(kept.find(await now(), 'k'), 'second');
});

test('keeps what was found out too late to the snapshot in which it was asked', async () => {
  const kept = aKept();
  const { store, now } = aStore();
  const late = Promise.withResolvers<string>();
  const asked = kept.of(await now(), 'k', () => late.promise);
  store.state = 'b';
  const next = await now();
  late.resolve('late');
  assert.equal(await asked, 'late');
  assert.equal(kept.find(next, 'k'), undefined);
});

test('finds out once for all who ask meanwhile, and keeps no failure', async () => {
  const kept = aKept();
  const { now } = aStore();
  const snapshot = await now();
  const result = Promise.withResolvers<string>();
  let asked = 0;
  const all = [1, 2, 3].map(() =>
    kept.of(snapshot, 'k', () => {
      asked++;
      return result.promise;
    }),
  );
  result.reject(new Error('not now'));
  for (const one of all) await assert.rejects(one, /not now/);
  assert.equal(asked, 1);
  assert.equal(await kept.of(snapshot, 'k', say('now')), 'now');
});

test('holds so many entries and bytes, the newest, and nothing that is too large', async () => {
  const { now } = aStore();
  const snapshot = await now();
  const few = aKept({ entriesMax: 3 });
  const small = aKept({ bytesMax: 20 * entryBytes });
  for (const kept of [few, small])
    for (let i = 0; i < 30; i++) await kept.of(snapshot, String.fromCharCode(65 + i), say(''));
  const held = (kept: SnapshotCache<string>) =>
    Array.from({ length: 30 }, (_, i) => kept.find(snapshot, String.fromCharCode(65 + i)) !== undefined);
  assert.deepEqual(held(few), [...Array(27).fill(false), ...Array(3).fill(true)]);
  assert.deepEqual(held(small), [...Array(10).fill(false), ...Array(20).fill(true)]);
  await small.of(snapshot, 'large', say('x'.repeat(2 * entryBytes)));
  assert.equal(small.find(snapshot, 'large'), undefined);
  assert.deepEqual(held(small), [...Array(10).fill(false), ...Array(20).fill(true)]);
});
