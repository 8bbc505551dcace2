import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StoreVersions } from './state.ts';
import { VersionedCache } from './versioned-cache.ts';

const entryBytes = 201;
const aCache = (change: object = {}) =>
  new VersionedCache<string>({
    entriesMax: 100,
    bytesMax: 1_000_000,
    bytesOf: ({ length }) => length,
    ...change,
  });

function aStore() {
  const store = { state: 'a' };
  const versions = new StoreVersions({ read: () => store.state });
  return { store, now: async () => versions.current() };
}

const returning = (text: string) => async () => text;

test('the cache computes a value once for a version, and again for the next version', async () => {
  const cache = aCache();
  const { store, now } = aStore();
  assert.equal(await cache.getOrCompute(await now(), 'k', returning('first')), 'first');
  assert.equal(await cache.getOrCompute(await now(), 'k', returning('again')), 'first');
  assert.equal(cache.find(await now(), 'k'), 'first');
  assert.equal(cache.find(await now(), 'other'), undefined);
  const before = await now();
  store.state = 'b';
  assert.equal(cache.find(await now(), 'k'), undefined);
  assert.equal(await cache.getOrCompute(await now(), 'k', returning('second')), 'second');
  assert.equal(cache.find(before, 'k'), 'first');
  assert.equal(cache.find(await now(), 'k'), 'second');
});

test('the cache stores a value in the version of its request, also if a newer version exists by then', async () => {
  const cache = aCache();
  const { store, now } = aStore();
  const result = Promise.withResolvers<string>();
  const value = cache.getOrCompute(await now(), 'k', () => result.promise);
  store.state = 'b';
  const next = await now();
  result.resolve('late');
  assert.equal(await value, 'late');
  assert.equal(cache.find(next, 'k'), undefined);
});

test('the cache computes a value once for concurrent callers, and does not cache a failure', async () => {
  const cache = aCache();
  const { now } = aStore();
  const version = await now();
  const result = Promise.withResolvers<string>();
  let calls = 0;
  const all = [1, 2, 3].map(() =>
    cache.getOrCompute(version, 'k', () => {
      calls++;
      return result.promise;
    }),
  );
  result.reject(new Error('not now'));
  for (const read of all) await assert.rejects(read, /not now/);
  assert.equal(calls, 1);
  assert.equal(await cache.getOrCompute(version, 'k', returning('now')), 'now');
});

test('the cache keeps the newest entries up to both limits, and no value that is too large', async () => {
  const { now } = aStore();
  const version = await now();
  const few = aCache({ entriesMax: 3 });
  const small = aCache({ bytesMax: 20 * entryBytes });
  for (const cache of [few, small])
    for (let i = 0; i < 30; i++)
      await cache.getOrCompute(version, String.fromCharCode(65 + i), returning(''));
  const areCached = (cache: VersionedCache<string>) =>
    Array.from({ length: 30 }, (_, i) => cache.find(version, String.fromCharCode(65 + i)) !== undefined);
  assert.deepEqual(areCached(few), [...Array(27).fill(false), ...Array(3).fill(true)]);
  assert.deepEqual(areCached(small), [...Array(10).fill(false), ...Array(20).fill(true)]);
  await small.getOrCompute(version, 'large', returning('x'.repeat(2 * entryBytes)));
  assert.equal(small.find(version, 'large'), undefined);
  assert.deepEqual(areCached(small), [...Array(10).fill(false), ...Array(20).fill(true)]);
});
