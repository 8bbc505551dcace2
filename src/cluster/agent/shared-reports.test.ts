import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { SharedReports } from './shared-reports.ts';

function someReports() {
  const clock = new ManualClock();
  const activity = { count: 0 };
  const taken: (string | undefined)[] = [];
  const ends: (() => void)[] = [];
  const reports = new SharedReports({
    requestReport(bucketUuid) {
      taken.push(bucketUuid);
      const { promise, resolve } = deferred<void>();
      ends.push(resolve);
      return promise;
    },
    activityCount: () => activity.count,
    clock,
  });
  /** Ends the oldest report that is being taken. */
  const end = async (): Promise<void> => {
    ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { reports, clock, activity, taken, end };
}

test('a report serves all readers until a client got an answer', async () => {
  const { reports, activity, taken, end } = someReports();
  const first = reports.read();
  assert.equal(reports.read(), first, 'a reader at the same time waits for the same report');
  await end();
  assert.equal(reports.read(), null);
  activity.count++;
  assert.notEqual(reports.read(), null);
  assert.equal(taken.length, 2);
});

test('a client whose request was answered while a report was taken waits for the next report', async () => {
  const { reports, activity, taken, end } = someReports();
  void reports.read();
  activity.count++;
  let isServed = false;
  const second = reports.read();
  assert.equal(reports.read(), second, 'one report serves all readers that ask meanwhile');
  void second?.then(() => {
    isServed = true;
  });
  await end();
  assert.deepEqual([isServed, taken.length], [false, 2]);
  await end();
  assert.deepEqual([isServed, taken.length], [true, 2]);
});

test('changes that no client made are in reports after 20 ms', async () => {
  const { reports, clock, taken, end } = someReports();
  void reports.read();
  await end();
  clock.advance(19);
  assert.equal(reports.read(), null);
  clock.advance(1);
  assert.notEqual(reports.read(), null);
  assert.equal(taken.length, 2);
});

test('a report of all buckets also serves readers of one bucket, but a report of one bucket serves no others', async () => {
  const { reports, taken, end } = someReports();
  void reports.read('b');
  await end();
  assert.equal(reports.read('b'), null);
  void reports.read('c');
  void reports.read();
  await end();
  await end();
  assert.deepEqual(taken, ['b', 'c', undefined]);
  assert.deepEqual([reports.read('b'), reports.read('d'), reports.read()], [null, null, null]);
});

test('no earlier report is shared after a change that this node made', async () => {
  const { reports, taken, end } = someReports();
  void reports.read();
  await end();
  reports.forget();
  assert.notEqual(reports.read(), null);
  assert.equal(taken.length, 2);
});
