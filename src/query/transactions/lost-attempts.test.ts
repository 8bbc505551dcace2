import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { type Deferred, deferred } from '#base/deferred.ts';
import type { StoreReply } from '#client/bucket-client.ts';
import { silentLog } from '#ports/log.ts';
import type { Keyspace, KeyspaceName } from '#sqlpp/datastore/keyspace.ts';
import { Status } from '#wire/status.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { eventually } from '../../../test/support/node-process.ts';
import type { RecordedAttempt } from './attempt-json.ts';
import { cleaningMax, LostAttempts } from './lost-attempts.ts';
import type { TransactionData } from './transaction-data.ts';

const name: KeyspaceName = { namespace: 'default', bucket: 'b', scope: '_default', collection: '_default' };
const keyspace: Keyspace = { name, bucketUuid: 'u', scopeId: 0, collectionId: 0 };
const windowMs = 60_000;

const other = {
  name: 'other',
  scopes: [
    { name: '_default', collections: [{ name: '_default' }, { name: 'records' }] },
    { name: 'shop', collections: [{ name: 'items' }] },
  ],
};

/** The searches of a service in a bucket without attempts. `collections`: those that an earlier process left. */
function searches(
  collections: KeyspaceName[],
  find: TransactionData['find'],
  hasBuckets = false,
  parts: Partial<TransactionData> = {},
) {
  const clock = new ManualClock();
  const atMs: number[] = [];
  const startMs = clock.monotonicMs();
  const data = {
    find,
    buckets: () => (hasBuckets ? [other] : []),
    reading: async () => {
      atMs.push(clock.monotonicMs() - startMs);
      return [];
    },
    ...parts,
  } as unknown as TransactionData;
  const lost = new LostAttempts({
    data,
    collections: {
      all: () => collections,
      add: (added) => void collections.push(added),
      clear: () => void collections.splice(0),
    },
    clock,
    log: silentLog,
    windowMs: () => windowMs,
    isOn: () => true,
  });
  return { clock, lost, atMs };
}

test('a bucket that the node does not have yet is searched once the node has it', async () => {
  let found: ReturnType<TransactionData['find']> = 'no bucket';
  const { clock, lost, atMs } = searches([name], () => found);
  for (let minute = 0; minute < 3; minute++) {
    clock.advance(windowMs);
    await eventually(() => assert.equal(clock.pending, 1));
  }
  assert.deepEqual(atMs, []);
  found = keyspace;
  clock.advance(windowMs);
  await eventually(() => assert.deepEqual(atMs, [4 * windowMs]));
  lost.stop();
});

test('a collection that was dropped, or whose bucket was, is not searched and is forgotten', async () => {
  for (const missing of ['no collection', 'no bucket'] as const) {
    const collections = [name];
    const { clock, lost, atMs } = searches(collections, () => missing, true);
    clock.advance(0);
    if (missing === 'no bucket') {
      // The node may have one bucket before the other.
      await eventually(() => assert.equal(clock.pending, 1));
      clock.advance(windowMs);
    }
    await eventually(() => assert.equal(clock.pending, 0));
    assert.deepEqual(atMs, []);
    lost.stop();
    assert.deepEqual(collections, []);
  }
});

test('lost attempts are cleaned up several at a time, so that those whose nodes hang do not wait for one another', async () => {
  const entry: RecordedAttempt = { tid: 't', st: 'PENDING', tst: '0x0000000000000000', exp: 1 };
  const lostCount = cleaningMax + 4;
  const attempts = new Map(Array.from({ length: lostCount }, (_, at) => [`attempt ${at}`, entry]));
  const answers: Deferred<StoreReply[]>[] = [];
  const { lost } = searches([name], () => keyspace, true, {
    reading: async <T>() => [{ attempts, nowMs: Date.UTC(2026) }] as T,
    store: () => {
      const answer = deferred<StoreReply[]>();
      answers.push(answer);
      return answer.promise;
    },
  });
  const swept = lost.sweep();
  await setImmediate();
  assert.equal(answers.length, cleaningMax);
  for (let at = 0; at < lostCount; at++) {
    answers[at]?.resolve([{ status: Status.success, cas: 1n, token: null, failedPartStatus: 0 }]);
    await setImmediate();
  }
  assert.equal(await swept, null);
  assert.equal(answers.length, lostCount);
  lost.stop();
});

test('transactions whose end fails repeatedly do not postpone the search', async () => {
  const { clock, lost, atMs } = searches([], () => keyspace);
  for (let second = 0; second < 61; second++) {
    lost.began(name);
    lost.ended(true);
    clock.advance(1_000);
  }
  await eventually(() => assert.deepEqual(atMs[0], windowMs));
  lost.stop();
});

test('an attempt that cannot be cleaned up, and a collection that cannot be read, do not keep others waiting', async () => {
  const attempts = { bad: { st: 'PENDING' }, good: { st: 'PENDING' } };
  const removed: string[] = [];
  const names = [{ ...name, bucket: 'unreadable' }, name];
  const { lost } = searches(names, (found) => ({ ...keyspace, name: found }), true, {
    reading: async (keyspace) => {
      if (keyspace.name.bucket === 'unreadable') throw new Error('the data service did not answer');
      return [{ attempts: new Map(Object.entries(attempts)), nowMs: 10_000 }] as never;
    },
    store: async (_keyspace, [request]) => {
      const path = request?.parts?.writes[0]?.path ?? '';
      if (path.includes('bad')) throw new Error('the data service did not answer');
      removed.push(path);
      return [{ status: Status.success, cas: 1n, token: null, failedPartStatus: 0 }];
    },
  });
  assert.equal(await lost.sweep(), 1_000);
  assert.deepEqual(removed, ['attempts.good.p']);
  lost.stop();
});

test('a search is not begun while another runs, which must not decide that no attempts remain', async () => {
  const collections: KeyspaceName[] = [];
  const entry: RecordedAttempt = { tid: 't', st: 'PENDING', tst: '0x0000000000000000', exp: 1 };
  const reads: Deferred<unknown[]>[] = [];
  const { clock, lost } = searches(collections, () => keyspace, true, {
    reading: <T>() => {
      const read = deferred<unknown[]>();
      reads.push(read);
      return read.promise as Promise<T>;
    },
    store: () => Promise.reject(new Error('the data service did not answer')),
  });
  lost.began(name);
  lost.ended(true);
  clock.advance(windowMs);
  assert.equal(reads.length, 1);
  // Another attempt is lost after the search has passed its record; the data service answers slowly.
  lost.began(name);
  lost.ended(true);
  clock.advance(windowMs);
  reads[0]?.resolve([]);
  await setImmediate();
  lost.stop();
  assert.notEqual(collections.length, 0);
  reads[1]?.resolve([{ attempts: new Map([['lost', entry]]), nowMs: Date.UTC(2026) }]);
});

test('once another node has gone, its attempts are cleaned up, whichever collection they are recorded in', async () => {
  const cas = (ms: number): string => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(BigInt(ms) * 1_000_000n);
    return `0x${bytes.reverse().toString('hex')}`;
  };
  const removed: string[] = [];
  let nowMs = 0;
  const attempts = new Map<string, RecordedAttempt>();
  const searched: string[] = [];
  const { clock, lost } = searches([], () => keyspace, true, {
    find: (found) => ({ ...keyspace, name: found }),
    reading: async ({ name: { bucket, scope, collection } }) => {
      searched.push(`${bucket}.${scope}.${collection}`);
      return [{ attempts: new Map(collection === 'records' ? attempts : []), nowMs }] as never;
    },
    store: async (_keyspace, [request]) => {
      const path = request?.parts?.writes[0]?.path ?? '';
      removed.push(path);
      attempts.delete(path.split('.')[1] as string);
      return [{ status: Status.success, cas: 1n, token: null, failedPartStatus: 0 }];
    },
  });
  nowMs = clock.wallMs();
  attempts.set('lost', { tid: 't', st: 'PENDING', tst: cas(nowMs), exp: 90_000 });
  // This attempt is of a node that runs, which cleans up after itself.
  attempts.set('later', { tid: 't', st: 'PENDING', tst: cas(nowMs + 61_000), exp: 1_000_000 });
  lost.searchForOthers();
  clock.advance(windowMs);
  await eventually(() => assert.equal(clock.pending, 1));
  const all = ['other._default._default', 'other._default.records', 'other.shop.items'];
  assert.deepEqual([searched, removed], [all, []]);
  nowMs += 100_000;
  clock.advance(windowMs);
  await eventually(() => assert.deepEqual(removed, ['attempts.lost.p']));
  await setImmediate();
  assert.equal(clock.pending, 0);
  assert.deepEqual(searched.slice(all.length), ['other._default.records'], 'only where attempts remained');
  lost.stop();
});

test('a bucket whose data service does not answer is not waited for in each of its collections', async () => {
  const tried: string[] = [];
  const answered = new Set<string>();
  const { clock, lost } = searches([], (found) => ({ ...keyspace, name: found }), true, {
    reading: async ({ name: { scope, collection } }) => {
      tried.push(`${scope}.${collection}`);
      if (!answered.has(collection)) throw new Error('the data service did not answer');
      return [] as never;
    },
  });
  lost.searchForOthers();
  clock.advance(windowMs);
  await eventually(() => assert.equal(clock.pending, 1));
  assert.deepEqual(tried, ['_default._default']);
  answered.add('records').add('items');
  clock.advance(1_000);
  await eventually(() => assert.equal(clock.pending, 1));
  assert.deepEqual(
    tried.slice(1),
    ['_default.records', 'shop.items', '_default._default'],
    'others come first',
  );
  answered.add('_default');
  clock.advance(1_000);
  await eventually(() => assert.equal(clock.pending, 0));
  assert.deepEqual(tried.slice(4), ['_default._default']);
  lost.stop();
});
