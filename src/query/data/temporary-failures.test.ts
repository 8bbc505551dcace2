import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import type { PartialReplies, StoreReply, StoreRequest } from '#client/bucket-client.ts';
import { DataPortError, StatusError, UnsentError } from '#client/data-port-error.ts';
import { Status } from '#wire/status.ts';
import { advanceUntilDone, runPromises } from '../../../test/support/advance-clock.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { BucketRefusals } from './bucket-refusals.ts';
import { retryTemporary, retryWrites, type StatementPlace } from './temporary-failures.ts';

const { signal } = new AbortController();
const reply = (status: number): StoreReply => ({ status, cas: 1n, token: null, failedPartStatus: 0 });

type Write = Pick<StoreRequest, 'key' | 'kind'> & { text: string };
const aWrite = (key: string, kind: Write['kind'] = 'set', text = key): Write => ({ key, kind, text });

/** Sends writes that get their statuses one after the other, the last one from then on; returns the final statuses. */
async function sent(statuses: Readonly<Record<string, readonly number[]>>) {
  const clock = new ManualClock();
  const sends: string[][] = [];
  const times = new Map<string, number>();
  const startedMs = clock.monotonicMs();
  const replies = await advanceUntilDone(
    clock,
    retryWrites(
      { clock, signal },
      Object.keys(statuses).map((id) => aWrite(id)),
      async (some, replies) => {
        sends.push(some.map(({ key }) => key));
        for (const { key: id } of some) {
          const time = times.get(id) ?? 0;
          times.set(id, time + 1);
          const all = statuses[id] as readonly number[];
          replies.push(reply(all[Math.min(time, all.length - 1)] as number));
        }
      },
    ),
  );
  return { sends, finals: replies.map(({ status }) => status), tookMs: clock.monotonicMs() - startedMs };
}

test('writes that the data service refuses temporarily are sent again, other writes only once', async () => {
  const { success, keyExists, syncWriteInProgress, temporaryFailure, outOfMemory } = Status;
  const { sends, finals } = await sent({
    a: [success],
    b: [syncWriteInProgress, temporaryFailure, success],
    c: [keyExists],
    d: [outOfMemory, keyExists],
  });
  assert.deepEqual(sends, [['a', 'b', 'c', 'd'], ['b', 'd'], ['b']]);
  assert.deepEqual(finals, [success, success, keyExists, keyExists]);
});

test('of several writes of one key the last one remains, even when an earlier one was refused', async () => {
  for (const [kind, sent, remains] of [
    ['set', ['first', 'other', 'last', 'first', 'last'], 'last'],
    ['add', ['first', 'other', 'last', 'first'], 'last'],
  ] as const) {
    const clock = new ManualClock();
    const sends: string[] = [];
    const stored = new Map<string, string>();
    const writes = [aWrite('a', kind, 'first'), aWrite('b', kind, 'other'), aWrite('a', kind, 'last')];
    const statusOf = ({ key, text }: Write): number => {
      sends.push(text);
      if (sends.length === 1) return Status.syncWriteInProgress;
      if (kind === 'add' && stored.has(key)) return Status.keyExists;
      stored.set(key, text);
      return Status.success;
    };
    const writing = retryWrites({ clock, signal }, writes, async (some, replies) => {
      for (const write of some) replies.push(reply(statusOf(write)));
    });
    await advanceUntilDone(clock, writing);
    assert.deepEqual(sends, sent);
    assert.equal(stored.get('a'), remains);
  }
});

test('writes that the data service refuses for 15 seconds fail: behind durable writes they are sent more often than where memory is short', async () => {
  for (const [status, least, most] of [
    [Status.syncWriteInProgress, 140, 160],
    [Status.temporaryFailure, 30, 40],
  ] as const) {
    const { finals, tookMs, sends } = await sent({ a: [Status.success], b: [status] });
    assert.deepEqual(finals, [Status.success, status]);
    assert.ok(tookMs > 14_000 && tookMs <= 15_500, `${tookMs} ms`);
    assert.ok(sends.length > least && sends.length < most, `${sends.length} times`);
  }
});

test('after a bucket has refused all writes for five seconds, further ones fail at once until one is made', async () => {
  const clock = new ManualClock();
  const refusals = new BucketRefusals();
  const sentFor = async (status: () => number): Promise<[sends: number, tookMs: number]> => {
    const startedMs = clock.monotonicMs();
    let sends = 0;
    const writing = retryWrites(
      { clock, signal },
      [aWrite('a')],
      async (_some, replies) => {
        sends++;
        replies.push(reply(status()));
      },
      { refusals },
    );
    await advanceUntilDone(clock, writing);
    return [sends, clock.monotonicMs() - startedMs];
  };
  const [, tookMs] = await sentFor(() => Status.outOfMemory);
  assert.ok(tookMs > 4_000 && tookMs <= 5_000, `${tookMs} ms`);
  assert.equal((await sentFor(() => Status.temporaryFailure))[0], 1);
  await sentFor(() => Status.keyExists);
  assert.equal(
    (await sentFor(() => Status.outOfMemory))[0],
    1,
    'a write that fails because its key exists does not count',
  );
  assert.ok((await sentFor(() => Status.syncWriteInProgress))[0] > 90);
  assert.ok(
    (await sentFor(() => Status.outOfMemory))[0] > 10,
    'no write was sent for more than five seconds',
  );
  assert.equal((await sentFor(() => Status.outOfMemory))[0], 1);
  await sentFor(() => Status.success);
  assert.ok((await sentFor(() => Status.outOfMemory))[0] > 10);
  assert.equal((await sentFor(() => Status.outOfMemory))[0], 1);
  clock.advance(6_000);
  assert.ok(
    (await sentFor(() => Status.outOfMemory))[0] > 10,
    'no write was sent for more than five seconds',
  );
});

test('a write that succeeded before the others were refused does not end the refusals of the bucket', async () => {
  const clock = new ManualClock();
  const refusals = new BucketRefusals();
  const startedMs = clock.monotonicMs();
  const statuses: number[][] = [[Status.success, Status.outOfMemory]];
  const writing = retryWrites(
    { clock, signal },
    [aWrite('a'), aWrite('b')],
    async (some, replies) => {
      const next = statuses.shift() ?? some.map(() => Status.outOfMemory);
      replies.push(...next.map(reply));
    },
    { refusals },
  );
  await advanceUntilDone(clock, writing);
  const tookMs = clock.monotonicMs() - startedMs;
  assert.ok(tookMs > 4_000 && tookMs <= 5_000, `${tookMs} ms`);
  assert.ok(refusals.untilMs(clock.monotonicMs()) <= startedMs + 5_100);
});

test('nothing is sent again after an abort', async () => {
  const aborting = new AbortController();
  const clock = new ManualClock();
  let sends = 0;
  const writing = retryWrites({ clock, signal: aborting.signal }, [aWrite('a')], async (_some, replies) => {
    sends++;
    replies.push(reply(Status.busy));
  });
  setImmediate(() => aborting.abort(new Error('ended')));
  await assert.rejects(writing, /ended/);
  assert.equal(sends, 1);
});

test('the replies to other writes are known after the connection was lost while refused ones were sent again', async () => {
  const clock = new ManualClock();
  const replies: PartialReplies = [];
  const statuses = [Status.success, Status.busy, Status.keyExists, Status.busy, Status.busy, Status.success];
  const writing = retryWrites(
    { clock, signal },
    ['a', 'b', 'c', 'd', 'e'].map((key) => aWrite(key)),
    async (some, answered) => {
      for (const _ of some) {
        if (statuses.length === 0) throw new DataPortError('lost');
        answered.push(reply(statuses.shift() as number));
      }
    },
    { replies },
  );
  await advanceUntilDone(clock, assert.rejects(writing, /lost/));
  assert.deepEqual(
    replies.map((known) => known?.status),
    [Status.success, Status.success, Status.keyExists, undefined, undefined],
  );
});

test('writes of a node that cannot be reached are sent again, at most for 15 seconds, even after others were refused', async () => {
  const clock = new ManualClock();
  const unsent = new UnsentError('no route');
  let sends = 0;
  const failures: (Error | undefined)[] = [unsent, unsent, undefined, unsent, undefined];
  const statuses = [Status.busy, Status.success, Status.success];
  const writing = retryWrites({ clock, signal }, [aWrite('a'), aWrite('b')], async (some, answered) => {
    const failure = failures[sends++];
    if (failure !== undefined) throw failure;
    for (const _ of some) answered.push(reply(statuses.shift() as number));
  });
  const replies = await advanceUntilDone(clock, writing);
  assert.deepEqual([replies.map(({ status }) => status), sends], [[Status.success, Status.success], 5]);
  const startedMs = clock.monotonicMs();
  const failing = retryWrites({ clock, signal }, [aWrite('a')], () => Promise.reject(unsent));
  await advanceUntilDone(clock, assert.rejects(failing, unsent));
  const tookMs = clock.monotonicMs() - startedMs;
  assert.ok(tookMs > 14_000 && tookMs <= 15_100, `${tookMs} ms`);
});

/** Reads that fail with these errors, the last one for ever; undefined: the read succeeds. */
function failing(...failures: readonly (Error | undefined)[]) {
  let reads = 0;
  return {
    get reads() {
      return reads;
    },
    async read() {
      const failure = failures[Math.min(reads++, failures.length - 1)];
      if (failure !== undefined) throw failure;
      return 'found';
    },
  };
}
const lost = new DataPortError('lost');

test('reads are retried after lost connections and temporary statuses, not after other failures', async () => {
  const moving = new StatusError(0, Status.temporaryFailure);
  const missing = new StatusError(0, Status.unknownCollection);
  const clock = new ManualClock();
  const source = failing(lost, moving, undefined);
  assert.equal(await advanceUntilDone(clock, retryTemporary({ clock, signal }, source.read)), 'found');
  assert.equal(source.reads, 3);
  const refused = failing(lost, missing, undefined);
  await advanceUntilDone(clock, assert.rejects(retryTemporary({ clock, signal }, refused.read), missing));
  assert.equal(refused.reads, 2);
});

test('a read that fails for 15 seconds ends with its last failure, and at once with its statement', async () => {
  const clock = new ManualClock();
  const startedMs = clock.monotonicMs();
  await advanceUntilDone(clock, assert.rejects(retryTemporary({ clock, signal }, failing(lost).read), lost));
  const tookMs = clock.monotonicMs() - startedMs;
  assert.ok(tookMs > 14_000 && tookMs <= 15_100, `${tookMs} ms`);
  const aborting = new AbortController();
  const reading = retryTemporary({ clock, signal: aborting.signal }, failing(lost).read);
  setImmediate(() => aborting.abort(new Error('ended')));
  await assert.rejects(reading, /ended/);
});

/** A clock, and places of statements; `leftMs`: when a statement last gave its place up. */
function aPlace() {
  const clock = new ManualClock();
  const startedMs = clock.monotonicMs();
  const left = { leftMs: 0 };
  const place = (mayLeave: boolean): StatementPlace => ({
    mayLeave,
    async without(waiting) {
      left.leftMs = clock.monotonicMs() - startedMs;
      await waiting();
    },
  });
  return { clock, left, place };
}

test('the statement gives up its place for a long wait only, and fails at once where too many wait', async () => {
  const { clock, left, place } = aPlace();
  const options = { clock, signal, place: place(true) };
  await advanceUntilDone(clock, retryTemporary(options, failing(lost, lost, undefined).read));
  assert.equal(left.leftMs, 0);
  const retried = retryTemporary(options, failing(...new Array(9).fill(lost), undefined).read);
  assert.equal(await advanceUntilDone(clock, retried), 'found');
  assert.ok(left.leftMs >= 150, `${left.leftMs} ms`);
  const refused = retryTemporary({ ...options, place: place(false) }, failing(lost).read);
  const refusedMs = clock.monotonicMs();
  await advanceUntilDone(clock, assert.rejects(refused, lost));
  assert.ok(clock.monotonicMs() - refusedMs < 1_000);
});

test('a statement gives up its place while a read is not answered', async () => {
  const { clock, left, place } = aPlace();
  for (const [mayLeave, leftAt] of [
    [true, 200],
    [false, 0],
  ] as const) {
    left.leftMs = 0;
    const answer = deferred<string>();
    const reading = retryTemporary({ clock, signal, place: place(mayLeave) }, () => answer.promise);
    clock.advance(199);
    await runPromises();
    assert.equal(left.leftMs, 0);
    clock.advance(1);
    await runPromises();
    assert.equal(left.leftMs, leftAt);
    answer.resolve('found');
    assert.equal(await reading, 'found');
  }
  assert.equal(clock.pending, 0);
});

test('a statement that writes behind a durable write gives up its place for a long wait only', async () => {
  const { clock, left, place } = aPlace();
  const writeBehind = async (mayLeave: boolean, refusals: number): Promise<[number, number]> => {
    const startedMs = clock.monotonicMs();
    let sends = 0;
    const writing = retryWrites(
      { clock, signal, place: place(mayLeave) },
      [aWrite('a')],
      async (_some, replies) => {
        replies.push(reply(sends++ < refusals ? Status.syncWriteInProgress : Status.success));
      },
    );
    const [answer] = await advanceUntilDone(clock, writing);
    return [answer?.status ?? -1, clock.monotonicMs() - startedMs];
  };
  const { success, syncWriteInProgress } = Status;
  assert.equal((await writeBehind(true, 1))[0], success);
  assert.equal(left.leftMs, 0);
  assert.equal((await writeBehind(true, 20))[0], success);
  assert.ok(left.leftMs >= 150 && left.leftMs < 400, `${left.leftMs} ms`);
  const [status, tookMs] = await writeBehind(false, 20);
  assert.equal(status, syncWriteInProgress);
  assert.ok(tookMs < 1_000, `${tookMs} ms`);
});
