import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { JavaScriptJob, JavaScriptReply, JavaScriptStart } from './javascript-messages.ts';
import { JavaScriptError, JavaScriptThreads } from './javascript-threads.ts';

class FakeWorker extends EventEmitter {
  readonly jobs: JavaScriptJob[] = [];
  interrupt: Int32Array | null = null;
  isTerminated = false;

  postMessage(message: JavaScriptStart | JavaScriptJob): void {
    if (message.kind === 'start') this.interrupt = new Int32Array(message.interrupt);
    else this.jobs.push(message);
  }

  terminate(): Promise<void> {
    this.isTerminated = true;
    return Promise.resolve();
  }

  reply(reply: JavaScriptReply = { kind: 'returned', text: '{}' }): void {
    this.emit('message', reply);
  }

  get isInterrupted(): boolean {
    return this.interrupt?.[0] === 1;
  }
}

function aPool(threadsMax = 1) {
  const workers: FakeWorker[] = [];
  const clock = new ManualClock();
  const startThread = (): FakeWorker => {
    const worker = new FakeWorker();
    workers.push(worker);
    return worker;
  };
  const threads = new JavaScriptThreads({ startThread, clock, threadsMax });
  const library = { file: 'functions/l.js', code: '' };
  const job = { kind: 'call', library, name: 'f', arguments: '[]', undefinedAt: [] } as const;
  const run = (session = 's', signal = new AbortController().signal, user = 'u') =>
    threads.run({ job, user, session, signal });
  const worker = (at: number): FakeWorker => {
    const found = workers[at];
    assert.ok(found);
    return found;
  };
  return { threads, clock, workers, worker, run };
}

const libraries = ({ jobs }: FakeWorker) =>
  jobs.map((job) => (job.kind === 'call' && job.library === null ? 'kept' : 'sent'));

test('a thread starts with the first job, runs one at a time, and ends after a time without jobs', async () => {
  const { threads, clock, workers, worker, run } = aPool();
  assert.equal(threads.count, 0);
  const first = run();
  const second = run();
  assert.equal(workers.length, 1);
  assert.equal(worker(0).jobs.length, 1);
  worker(0).reply();
  assert.deepEqual(await first, { kind: 'returned', text: '{}' });
  assert.equal(worker(0).jobs.length, 2);
  clock.advance(60_000);
  assert.equal(worker(0).isTerminated, false, 'a job runs');
  worker(0).reply();
  await second;
  clock.advance(30_000);
  assert.equal(worker(0).isTerminated, true);
  const third = run();
  worker(1).reply();
  await third;
  threads.stop();
});

test("a session's next call reuses the loaded library, unless the last call failed or another session ran in between", async () => {
  const { worker, run, threads } = aPool();
  const outcomes: JavaScriptReply[] = [
    { kind: 'returned', text: '{}' },
    { kind: 'thrown', exception: '1', stack: null },
    { kind: 'returned', text: '{}' },
  ];
  for (const reply of outcomes) {
    const done = run('a');
    worker(0).reply(reply);
    await done;
  }
  for (const session of ['b', 'a']) {
    const done = run(session);
    worker(0).reply();
    await done;
  }
  assert.deepEqual(libraries(worker(0)), ['sent', 'kept', 'sent', 'sent', 'sent']);
  threads.stop();
});

test('an aborted job fails at once and is interrupted; a thread that does not react is replaced', async () => {
  const { clock, worker, workers, run, threads } = aPool();
  const ending = new AbortController();
  const endless = run('a', ending.signal);
  const waiting = run('b');
  ending.abort(new Error('cancelled'));
  await assert.rejects(endless, /cancelled/);
  assert.equal(worker(0).isInterrupted, true);
  assert.equal(workers.length, 1, 'the thread may still react');
  clock.advance(1_000);
  assert.equal(worker(0).isTerminated, true);
  worker(1).reply();
  await waiting;
  const second = new AbortController();
  const interrupted = run('c', second.signal);
  second.abort(new Error('cancelled'));
  await assert.rejects(interrupted, /cancelled/);
  worker(1).reply({ kind: 'interrupted' });
  clock.advance(1_000);
  assert.equal(worker(1).isTerminated, false, 'a thread that reacted was ended');
  const last = run();
  assert.equal(worker(1).isInterrupted, false);
  worker(1).reply();
  await last;
  threads.stop();
});

test('a job that is aborted while it waits for a thread never runs', async () => {
  const { worker, run, threads } = aPool();
  const running = run();
  const ending = new AbortController();
  const waiting = run('b', ending.signal);
  ending.abort(new Error('cancelled'));
  await assert.rejects(waiting, /cancelled/);
  await assert.rejects(run('c', AbortSignal.abort(new Error('before'))), /before/);
  worker(0).reply();
  await running;
  assert.equal(worker(0).jobs.length, 1);
  threads.stop();
});

test('a user with many calls does not delay others: another user gets a thread at once, or is next', async () => {
  const { worker, workers, run, threads } = aPool(2);
  const signal = new AbortController().signal;
  const many = Array.from({ length: 102 }, () => run('a', signal));
  assert.equal(workers.length, 2, 'one user has no threads beyond the limit');
  const others = ['b', 'c', 'd'].map((user) => run(user, signal, user));
  assert.equal(workers.length, 4);
  await assert.rejects(run('a'), /more than 100 calls wait/);
  worker(0).reply();
  await many[0];
  worker(0).reply();
  await others[2];
  assert.deepEqual(
    [0, 1, 2, 3].map((at) => worker(at).jobs.length),
    [2, 1, 1, 1],
    'threads beyond the limit serve only users who have no other thread',
  );
  worker(2).reply();
  worker(3).reply();
  await Promise.all(others);
  const jobs = [0, 2, 3].map((at) => worker(at).jobs.length);
  assert.equal(
    jobs.reduce((sum, count) => sum + count),
    5,
    'a waiting call goes on',
  );
  threads.stop();
  await Promise.allSettled([...many, ...others]);
});

test('a job has a time limit even if its request has none', async () => {
  const { clock, worker, run, threads } = aPool();
  const endless = run();
  clock.advance(120_000);
  await assert.rejects(
    endless,
    (error: Error) => error instanceof JavaScriptError && /120 sec/.test(error.message),
  );
  assert.equal(worker(0).isInterrupted, true);
  threads.stop();
});

test('a thread that fails fails its job; the next job gets another thread', async () => {
  const failures: [(worker: FakeWorker) => void, RegExp][] = [
    [(worker) => worker.emit('error', new Error('out of memory')), /out of memory/],
    [(worker) => worker.emit('exit'), /ended/],
    [(worker) => worker.reply({ kind: 'broken', reason: 'RangeError' }), /RangeError/],
  ];
  for (const [fail, text] of failures) {
    const { worker, run, threads } = aPool();
    const lost = run();
    const next = run();
    fail(worker(0));
    await assert.rejects(lost, text);
    worker(1).reply();
    await next;
    threads.stop();
  }
});

test('more jobs than can wait are refused, and stop() rejects running and waiting jobs', async () => {
  const { worker, run, threads } = aPool(2);
  const accepted = Array.from({ length: 102 }, () => run());
  await assert.rejects(run(), /more than 100 calls wait/);
  threads.stop();
  for (const result of await Promise.allSettled(accepted)) assert.equal(result.status, 'rejected');
  assert.deepEqual([worker(0).isTerminated, worker(1).isTerminated], [true, true]);
  await assert.rejects(run(), /stops/);
});
