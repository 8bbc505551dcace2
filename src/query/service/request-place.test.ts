import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { Admission } from '../state/admission.ts';
import { RequestPlace } from './request-place.ts';

const { signal } = new AbortController();
const admissionOf = (running: number, waiting: number) => new Admission(() => ({ running, waiting }));

async function placeIn(
  admission: Admission,
  user = 'a',
  ending: AbortSignal = signal,
): Promise<RequestPlace> {
  assert.ok(await admission.enter(user, ending));
  return new RequestPlace(admission, user, ending);
}

test('a statement that waits for the data service leaves its place to another request, and then waits for a place again', async () => {
  const admission = admissionOf(1, 10);
  const place = await placeIn(admission);
  const outage = deferred<void>();
  const waiting = place.without(() => outage.promise);
  const other = await placeIn(admission);
  let isBack = false;
  void waiting.then(() => {
    isBack = true;
  });
  outage.resolve();
  await new Promise(setImmediate);
  assert.deepEqual([isBack, admission.queued], [false, 1]);
  other.end();
  await waiting;
  assert.equal(admission.enterNow('a'), false, 'the statement has its place again');
  place.end();
  assert.equal(admission.enterNow('a'), true);
});

test('a statement takes its place again when the last of its waiting reads goes on', async () => {
  const admission = admissionOf(1, 10);
  const place = await placeIn(admission);
  const outages = [deferred<void>(), deferred<void>()] as const;
  const [first, second] = outages.map(({ promise }) => place.without(() => promise));
  outages[0].resolve();
  await first;
  assert.equal(admission.enterNow('a'), true, 'the second read still waits');
  admission.leave('a');
  outages[1].resolve();
  await second;
  assert.equal(admission.enterNow('a'), false);
  place.end();
});

test('a statement that ends while it has no place leaves no place taken', async () => {
  const admission = admissionOf(1, 1);
  const place = await placeIn(admission);
  const outage = deferred<void>();
  const waiting = place.without(() => outage.promise);
  const other = await placeIn(admission);
  outage.resolve();
  await new Promise(setImmediate);
  place.end();
  other.end();
  await waiting;
  assert.equal(admission.enterNow('a'), true, 'the returning read gave the place back');
  assert.equal(admission.mayLeave, true);
});

test('as many statements may wait without a place as requests may wait in the queue', async () => {
  const admission = admissionOf(2, 1);
  const [first, second] = [await placeIn(admission), await placeIn(admission)];
  const outage = deferred<void>();
  const ending = new AbortController();
  assert.equal(second.mayLeave, true);
  const waiting = first.without(() => outage.promise);
  assert.equal(second.mayLeave, false);
  assert.equal(first.mayLeave, true, 'its other reads wait without a place, too');
  outage.reject(new Error('ended'));
  await assert.rejects(waiting, /ended/);
  first.end();
  assert.equal(second.mayLeave, true);
  ending.abort();
  second.end();
});

test('a statement that is cancelled while it waits for its place ends at once', async () => {
  const admission = admissionOf(1, 10);
  const ending = new AbortController();
  const place = await placeIn(admission, 'a', ending.signal);
  const outage = deferred<void>();
  const waiting = place.without(() => outage.promise);
  const other = await placeIn(admission);
  outage.resolve();
  await new Promise(setImmediate);
  ending.abort(new Error('cancelled'));
  await assert.rejects(waiting, /cancelled/);
  place.end();
  other.end();
  assert.deepEqual([admission.queued, admission.enterNow('a')], [0, true]);
});
