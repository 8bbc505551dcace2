import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type Log, silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { configStoreSuite } from '../../test/contract/config-store.ts';
import { SimulatedClock } from '../../test/support/simulated-clock.ts';
import type { Entry } from './config-store.ts';
import { MemoryConfigStore } from './memory-config-store.ts';
import { SwitchingConfigStore } from './switching-config-store.ts';

configStoreSuite('one that another can replace', {
  isShared: false,
  async make() {
    return { open: async () => new SwitchingConfigStore(new MemoryConfigStore()), close: async () => {} };
  },
});

it('changes wait while the store is held, and are made at its release in the store that has replaced the held one', async () => {
  const [before, after] = [new MemoryConfigStore(), new MemoryConfigStore()];
  const store = new SwitchingConfigStore(before);
  store.hold();
  const put = store.put('a', 1, 0);
  const removed = store.delete('b', 1);
  assert.deepEqual([await before.get('a'), store.revision()], [null, 0]);
  await after.put('b', 1, 0);
  await store.switchTo(after);
  assert.equal(await after.get('a'), null);
  store.release();
  assert.deepEqual([await put, await removed], [2, true]);
  assert.equal((await after.get('a'))?.value, 1);
});

it('after a switch watchers see the entries of the new store, and changes are made in the new store', async () => {
  const [before, after] = [new MemoryConfigStore(), new MemoryConfigStore()];
  await before.put('a', 1, 0);
  await before.put('b', 1, 0);
  await after.put('c', 3, 0);
  await after.put('b', 2, 0);
  const store = new SwitchingConfigStore(before);
  const seen: [string, unknown][] = [];
  const watching = await store.watch('', (key, entry) => seen.push([key, entry?.value ?? null]));
  await store.switchTo(after);
  assert.deepEqual(seen.splice(0).slice(2), [
    ['b', 2],
    ['c', 3],
    ['a', null],
  ]);
  await before.put('a', 9, 1);
  assert.equal(await store.put('b', 4, 2), 3);
  assert.deepEqual(seen.splice(0), [['b', 4]]);
  watching.stop();
  await after.put('d', 1, 0);
  assert.deepEqual(seen, []);
});

it('a watcher that begins while the store is replaced watches the new store only', async () => {
  const [before, after] = [new MemoryConfigStore(), new MemoryConfigStore()];
  await before.put('a', 1, 0);
  await after.put('a', 2, 0);
  const { promise: replaced, resolve: wasReplaced } = Promise.withResolvers<void>();
  const slow = before.watch.bind(before);
  before.watch = async (prefix, changed) => {
    await replaced;
    return slow(prefix, changed);
  };
  const store = new SwitchingConfigStore(before);
  const seen: unknown[] = [];
  const begun = store.watch('', (_, entry) => seen.push(entry?.value ?? null));
  const dispose = before[Symbol.asyncDispose].bind(before);
  before[Symbol.asyncDispose] = async () => {};
  await store.switchTo(after);
  wasReplaced();
  const watching = await begun;
  assert.deepEqual(seen.splice(0), [2]);
  watching.stop();
  await after.put('a', 3, 1);
  assert.deepEqual(seen, []);
  await dispose();
});

it('a watch of the new store that fails leaves no other watcher on the earlier store, and is tried again', async () => {
  const clock = new SimulatedClock();
  const [before, after] = [new MemoryConfigStore(), new MemoryConfigStore()];
  await before.put('a/1', 1, 0);
  await before.put('b/1', 1, 0);
  await after.put('a/2', 2, 0);
  await after.put('b/2', 2, 0);
  let failures = 2;
  const watch = after.watch.bind(after);
  after.watch = async (prefix, changed) => {
    if (prefix === 'a/' && failures-- > 0) throw new Error('the entry "a/2" is damaged');
    return watch(prefix, changed);
  };
  let isClosed = false;
  before[Symbol.asyncDispose] = async () => {
    isClosed = true;
  };
  Object.assign(after, { ports: { clock, random: realRandom } });
  const warnings: unknown[] = [];
  const log: Log = { ...silentLog, warn: (event, fields) => void warnings.push([event, fields]) };
  const store = new SwitchingConfigStore(before, log);
  const seen: [string, unknown][] = [];
  const note = (key: string, entry: Entry | null) => void seen.push([key, entry?.value ?? null]);
  await store.watch('a/', note);
  await store.watch('b/', note);
  seen.length = 0;
  await store.switchTo(after);
  assert.deepEqual(seen.splice(0), [
    ['b/2', 2],
    ['b/1', null],
  ]);
  assert.ok(isClosed, 'the earlier store stays open');
  const reason = 'the entry "a/2" is damaged';
  assert.deepEqual(warnings, [['configuration.not_watched', { keys: 'a/*', reason }]]);
  await clock.run(10_000);
  assert.deepEqual(seen.splice(0), [
    ['a/2', 2],
    ['a/1', null],
  ]);
  await store.put('a/2', 3, 1);
  assert.deepEqual(seen, [['a/2', 3]]);
});

it('a watcher that is stopped while the store is replaced gets nothing from the new store', async () => {
  const [before, after] = [new MemoryConfigStore(), new MemoryConfigStore()];
  await before.put('b', 1, 0);
  await after.put('a', 2, 0);
  const store = new SwitchingConfigStore(before);
  const seen: string[] = [];
  await store.watch('', (key) => {
    if (key === 'a') second.stop();
  });
  const second = await store.watch('', (key) => void seen.push(key));
  seen.length = 0;
  await store.switchTo(after);
  assert.deepEqual(seen, []);
});

it('a watch that fails after its store was replaced does not end the watch of the next store', async () => {
  const clock = new SimulatedClock();
  const [first, second, third] = [new MemoryConfigStore(), new MemoryConfigStore(), new MemoryConfigStore()];
  await first.put('old', 1, 0);
  await third.put('new', 3, 0);
  const watch = Promise.withResolvers<never>();
  const attempts = [() => Promise.reject(new Error('the entry is damaged')), () => watch.promise];
  second.watch = () => attempts.shift()?.() ?? assert.fail('a third attempt');
  for (const next of [second, third]) Object.assign(next, { ports: { clock, random: realRandom } });
  const store = new SwitchingConfigStore(first);
  const seen: [string, unknown][] = [];
  await store.watch('', (key, entry) => void seen.push([key, entry?.value ?? null]));
  await store.switchTo(second);
  await clock.run(1_000);
  assert.equal(attempts.length, 0);
  await store.switchTo(third);
  watch.reject(new Error('the store is closed'));
  await clock.run(10_000);
  await store.put('new', 4, 1);
  assert.deepEqual(seen, [
    ['old', 1],
    ['new', 3],
    ['old', null],
    ['new', 4],
  ]);
});
