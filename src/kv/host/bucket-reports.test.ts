// Reports that each take longer than a turn of the data thread has time for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { BucketReport } from '../admin.ts';
import { TurnClock, turnLimits } from '../turn-clock.ts';
import { bucketReports, type ReportedBucket } from './bucket-reports.ts';

function hostsOf(names: readonly string[], reported: (name: string) => void): Map<string, ReportedBucket> {
  return new Map(
    names.map((name) => [
      name,
      {
        served: { uuid: `uuid of ${name}` },
        measure: () => Promise.resolve(),
        report() {
          reported(name);
          return { name } as BucketReport;
        },
      },
    ]),
  );
}

test('each bucket is reported in a turn of its own', async () => {
  const clock = new ManualClock();
  let turn = 0;
  const turns: number[] = [];
  const hosts = hostsOf(['a', 'b', 'c'], () => {
    turns.push(turn);
    clock.advance(turnLimits.turnMs + 1);
  });
  let isDone = false;
  const reports = bucketReports(hosts, new TurnClock(clock)).finally(() => {
    isDone = true;
  });
  for (; !isDone; turn++) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(
    (await reports).map(({ name }) => name),
    ['a', 'b', 'c'],
  );
  assert.equal(new Set(turns).size, 3, `reports in the turns ${turns}`);
});

test('a bucket that is deleted before its turn is not in the reports', async () => {
  const hosts = hostsOf(['a', 'b', 'c'], (name) => {
    if (name === 'a') hosts.delete('b');
  });
  const reports = await bucketReports(hosts, new TurnClock(new ManualClock()));
  assert.deepEqual(
    reports.map(({ name }) => name),
    ['a', 'c'],
  );
});

test('a report of one bucket reads no other', async () => {
  const reported: string[] = [];
  const hosts = hostsOf(['a', 'b', 'c'], (name) => reported.push(name));
  await bucketReports(hosts, new TurnClock(new ManualClock()), 'uuid of b');
  assert.deepEqual(reported, ['b']);
});
