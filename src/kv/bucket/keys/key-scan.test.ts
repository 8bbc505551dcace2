// Lists of the keys of a vbucket that take several turns of the thread.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { BucketUnderTest, keyOf } from '../../../../test/support/a-bucket.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { MemoryDisk } from '../../disk/memory-engine.ts';
import type { KeyQuery } from './key-scan.ts';
import { ListedKeys, PackedKeys } from './packed-keys.ts';
import { sampleInSteps } from './sample.ts';

/** Without the id of the collection, which is one byte. */
const texts = (keys: ListedKeys): string[] => Array.from(keys, (key) => key.toString('utf8', 1));

/** Keeps tasks for the next turn of the event loop until the test runs them. */
class HeldTurnsClock extends ManualClock {
  readonly turns: (() => void)[] = [];
  override soon(callback: () => void): void {
    this.turns.push(callback);
  }
}

const everyKey: KeyQuery = {
  vb: 0,
  collection: 0,
  accepts: () => true,
  seqno: 0,
  bytesMax: Infinity,
  countMax: Infinity,
};

async function aBucket(count: number) {
  const clock = new HeldTurnsClock();
  const tested = await new BucketUnderTest({ clock }).start();
  for (let i = 0; i < count; i++) tested.store(`k${i}`);
  const list = (changes: Partial<KeyQuery> = {}) => {
    const result: { keys: string[] | number | null } = { keys: null };
    tested.bucket.keys.list({ ...everyKey, ...changes }, (keys) => {
      result.keys = typeof keys === 'number' ? keys : texts(keys);
    });
    return result;
  };
  /** Runs all deferred tasks, and calls `between` before each. */
  const runTurns = (between: (turn: number) => void = () => {}) => {
    let turns = 0;
    for (let next = clock.turns.shift(); next; next = clock.turns.shift()) {
      between(turns++);
      next();
    }
    return turns;
  };
  return { tested, list, runTurns };
}

const names = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `k${from + i}`);

test('few keys are listed at once, and many over several turns', async () => {
  const few = await aBucket(100);
  assert.deepEqual(few.list().keys, names(0, 100).sort());
  const many = await aBucket(30_000);
  const result = many.list();
  assert.equal(result.keys, null);
  assert.ok(many.runTurns() > 10);
  assert.deepEqual(result.keys, names(0, 30_000).sort());
});

test('a list has every key that exists during the whole listing, and each once', async () => {
  const { tested, list, runTurns } = await aBucket(30_000);
  const result = list();
  let removedCount = 0;
  let more = 0;
  runTurns((turn) => {
    for (let i = 0; i < 300 && removedCount < 10_000; i++) tested.remove(`k${removedCount++}`);
    for (let i = 0; i < (turn < 30 ? 700 : 0); i++) tested.store(`new${more++}`);
  });
  assert.ok(removedCount > 5_000 && more > 10_000, `${removedCount} ${more}`);
  const keys = result.keys as string[];
  assert.equal(new Set(keys).size, keys.length);
  const found = new Set(keys);
  assert.deepEqual(
    names(removedCount, 30_000).filter((name) => !found.has(name)),
    [],
  );
});

test('a list has only the requested number of first keys', async () => {
  const { list, runTurns } = await aBucket(20_000);
  const all = names(0, 20_000).sort();
  const first = list({ countMax: 10, bytesMax: 200_000 });
  runTurns();
  assert.deepEqual(first.keys, all.slice(0, 10));
  const none = list({ countMax: 0 });
  runTurns();
  assert.deepEqual(none.keys, []);
  const tooMany = list({ bytesMax: 200_000 });
  runTurns();
  assert.equal(tooMany.keys, Status.busy);
});

test('documents are visited for one long list at a time', async () => {
  const count = 30_000;
  const { list, runTurns } = await aBucket(count);
  const visited = [0, 0] as [number, number];
  const first = list({ accepts: () => ++visited[0] > 0 });
  const second = list({ accepts: () => ++visited[1] > 0 });
  const visitedAtOnce = visited[1];
  let turnsOfFirst = 0;
  runTurns(() => {
    if (visited[0] === count) return;
    turnsOfFirst++;
    assert.equal(visited[1], visitedAtOnce, `after ${visited[0]} documents for the first list`);
  });
  assert.ok(turnsOfFirst > 5, `${turnsOfFirst} turns`);
  assert.deepEqual(first.keys, names(0, count).sort());
  assert.deepEqual(second.keys, first.keys);
});

test('a sample is chosen in steps, has the requested size, is sorted, and is the same for the same seed', () => {
  const count = 30_000;
  const packed = new PackedKeys();
  const places = Uint32Array.from(names(0, count).sort(), (name) => {
    const key = Buffer.from(`\0${name}`);
    return packed.add(key, 0, key.length);
  });
  const sample = (seed: number, samples: number): string[] => {
    const steps = sampleInSteps(packed, places, { seed, samples });
    for (let yields = 0; ; yields++) {
      const { done, value } = steps.next();
      if (!done) continue;
      assert.ok(yields >= count / 1_024, `${yields} pauses`);
      return texts(new ListedKeys(packed, value));
    }
  };
  for (const samples of [1, 7, 5_000, count - 1, count, 2 * count]) {
    const chosen = sample(1, samples);
    assert.equal(chosen.length, Math.min(samples, count));
    assert.deepEqual(chosen, [...new Set(chosen)].sort());
  }
  assert.deepEqual(sample(3, 100), sample(3, 100));
  assert.notDeepEqual(sample(3, 100), sample(4, 100));
});

test('with full eviction, a document on disk whose deletion is not on disk yet is not listed', async () => {
  let sync = Promise.resolve();
  const disk = new MemoryDisk({ sync: () => sync }).engine();
  const files = { folder: '/bucket', bucketUuid: 'b1', incarnation: 1, fileCount: 4 };
  const tested = await new BucketUnderTest({
    storage: { disk, files },
    evictionPolicy: 'fullEviction',
  }).start();
  for (const key of ['evicted', 'kept', 'removed']) tested.store(key);
  await tested.bucket.writeAll();
  const { keys } = tested.bucket;
  assert.equal(keys.evict(0, keyOf('evicted')), Status.success);
  const unwritten = Promise.withResolvers<void>();
  sync = unwritten.promise;
  tested.remove('removed');
  tested.tick(200);
  const listed = await new Promise<ListedKeys | Status>((done) => keys.list(everyKey, done));
  assert.ok(typeof listed === 'object');
  assert.deepEqual(texts(listed), ['evicted', 'kept']);
  unwritten.resolve();
  await tested.bucket.stop();
});
