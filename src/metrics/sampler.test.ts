import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Log, silentLog } from '#ports/log.ts';
import { runPromises } from '../../test/support/advance-clock.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { MetricsRegistry } from './registry.ts';
import { Sampler } from './sampler.ts';

const startMs = 1_000_000_000;

/** `work` returns the number of operations so far. */
function aSampler(work: () => number, log: Log = silentLog) {
  const clock = new ManualClock(startMs);
  const registry = new MetricsRegistry({ log: silentLog });
  registry.add('data', {
    collect: () => [{ name: 'kv_ops', labels: {}, kind: 'counter', value: work() }],
  });
  const seconds: { recent: number[]; stored: number[] } = { recent: [], stored: [] };
  const note = (list: number[]) => (timeMs: number) => void list.push((timeMs - startMs) / 1000);
  const sink = { append: note(seconds.stored), appendRecent: note(seconds.recent) };
  const sampler = new Sampler({ registry, sink, clock, log });
  sampler.start();
  const pass = async (count: number) => {
    for (let second = 0; second < count; second++) {
      clock.advance(1000);
      await runPromises();
    }
  };
  return { sampler, seconds, sink, pass };
}

test('the sampler collects each second while clients work, and stores every tenth sample', async () => {
  let done = 0;
  const { seconds, pass } = aSampler(() => done++);
  await pass(21);
  assert.deepEqual(
    seconds.recent,
    [...Array(21).keys()].map((index) => index + 1),
  );
  assert.deepEqual(seconds.stored, [1, 10, 20]);
});

test('the sampler collects every tenth second without operations and readers', async () => {
  const { seconds, pass } = aSampler(() => 5);
  await pass(40);
  assert.deepEqual(seconds.recent, [1, 2, 10, 20, 30, 40]);
});

test('the sampler collects each second again once clients work or read metrics', async () => {
  let done = 5;
  const { sampler, seconds, pass } = aSampler(() => done);
  await pass(20);
  sampler.watched();
  await pass(3);
  assert.deepEqual(seconds.recent.slice(-4), [20, 21, 22, 23]);
  await pass(67);
  assert.equal(seconds.recent.at(-1), 90);
  done = 6;
  await pass(11);
  assert.deepEqual(seconds.recent.slice(-3), [90, 100, 101]);
});

test('the sampler continues after samples that could not be stored, and logs the first failure', async () => {
  const logged: string[] = [];
  const error = (event: string, fields?: object) => void logged.push(`${event} ${JSON.stringify(fields)}`);
  let done = 0;
  const { seconds, sink, pass } = aSampler(() => done++, { ...silentLog, error });
  const { append, appendRecent } = sink;
  const fail = () => {
    throw new Error('full');
  };
  Object.assign(sink, { append: fail, appendRecent: fail });
  await pass(12);
  Object.assign(sink, { append, appendRecent });
  await pass(9);
  assert.deepEqual(seconds, { recent: [13, 14, 15, 16, 17, 18, 19, 20, 21], stored: [13, 20] });
  assert.deepEqual(logged, ['metrics.sample_failed {"reason":"Error: full"}']);
});
