import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { eventually } from '../../test/support/node-process.ts';
import { silentLog } from './log.ts';
import { ServiceThread } from './service-thread.ts';

/** Reports each number that it receives, ends without notice at 0, and stops when asked. */
const source = `import { parentPort, workerData } from 'node:worker_threads';
parentPort!.on('message', (call: { kind: string; value: number }) => {
  if (call.kind === 'stop') parentPort!.postMessage({ kind: 'stopped' });
  else if (call.value === 0) process.exit();
  else parentPort!.postMessage({ kind: 'report', value: call.value, workerData });
});`;

interface Report {
  readonly kind: 'report';
  readonly value: number;
  readonly workerData: string;
}

async function aService() {
  const folder = await mkdtemp(join(tmpdir(), 'divan-thread-'));
  await writeFile(join(folder, 'service.ts'), source);
  const clock = new ManualClock();
  const received: Report[] = [];
  const answers: ((call: { kind: 'number'; value: number }) => void)[] = [];
  const pauses: number[] = [];
  const state = { kind: 'number' as const, value: 7 };
  let ends = 0;
  const problems: Error[] = [];
  const thread: ServiceThread<{ kind: 'number'; value: number }, Report> = new ServiceThread({
    area: 'example',
    name: 'example',
    module: pathToFileURL(join(folder, 'service.ts')),
    clock,
    log: {
      ...silentLog,
      warn: (event, fields) => {
        assert.equal(event, 'example.thread_restarts');
        pauses.push(fields?.['inMs'] as number);
      },
    },
    workerData: async () => {
      const problem = problems.pop();
      if (problem !== undefined) throw problem;
      return 'data';
    },
    started: () => thread.send(state),
    receive: (message, answer) => {
      received.push(message);
      answers.push(answer);
    },
    ended: () => ends++,
  });
  return {
    thread,
    clock,
    received,
    answers,
    pauses,
    state,
    problems,
    ends: () => ends,
    async [Symbol.asyncDispose]() {
      await thread.stop();
      await rm(folder, { recursive: true });
    },
  };
}

test('the thread is started once, with its data, and gets the state', async () => {
  await using service = await aService();
  const { thread, received } = service;
  thread.send({ kind: 'number', value: 1 });
  thread.start();
  thread.start();
  await eventually(() => assert.equal(received.length, 1));
  assert.deepEqual(received, [{ kind: 'report', value: 7, workerData: 'data' }]);
});

test('a thread that ends unexpectedly is restarted, after pauses that double until it has reported and run for a while', async () => {
  await using service = await aService();
  const { thread, clock, received, pauses, state } = service;
  state.value = 0;
  thread.start();
  for (const expected of [[100], [100, 200], [100, 200, 400]]) {
    await eventually(() => assert.deepEqual(pauses, expected));
    assert.equal(thread.isRunning, false);
    if (expected.length === 3) state.value = 7;
    clock.advance(expected.at(-1) as number);
  }
  await eventually(() => assert.equal(received.length, 1));
  thread.send({ kind: 'number', value: 0 });
  await eventually(() => assert.deepEqual(pauses, [100, 200, 400, 800]));
  clock.advance(800);
  await eventually(() => assert.equal(received.length, 2));
  clock.advance(10_000);
  thread.send({ kind: 'number', value: 0 });
  await eventually(() => assert.deepEqual(pauses, [100, 200, 400, 800, 100]));
});

test('a thread that cannot be started is tried again after the same pauses', async () => {
  await using service = await aService();
  const { thread, clock, received, pauses, problems } = service;
  problems.push(new Error('no memory for another thread'));
  thread.start();
  await eventually(() => assert.deepEqual(pauses, [100]));
  clock.advance(100);
  await eventually(() => assert.equal(received.length, 1));
});

test('an answer to a thread that has ended does not reach the thread that takes its place', async () => {
  await using service = await aService();
  const { thread, clock, received, answers, pauses, state } = service;
  thread.start();
  await eventually(() => assert.equal(received.length, 1));
  const [answer] = answers as [(typeof answers)[number]];
  answer({ kind: 'number', value: 8 });
  await eventually(() => assert.equal(received.length, 2));
  thread.send({ kind: 'number', value: 0 });
  await eventually(() => assert.deepEqual(pauses, [100]));
  state.value = 9;
  clock.advance(100);
  await eventually(() => assert.equal(received.length, 3));
  answer({ kind: 'number', value: 10 });
  thread.send({ kind: 'number', value: 11 });
  await eventually(() => assert.equal(received.at(-1)?.value, 11));
  assert.deepEqual(
    received.map(({ value }) => value),
    [7, 8, 9, 11],
  );
});

test('a thread that was stopped is not restarted', async () => {
  const service = await aService();
  const { thread, received, pauses, ends } = service;
  thread.start();
  await eventually(() => assert.equal(received.length, 1));
  await service[Symbol.asyncDispose]();
  await eventually(() => assert.equal(ends(), 1));
  assert.equal(thread.isRunning, false);
  thread.start();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(thread.isRunning, false);
  assert.deepEqual(pauses, []);
});
