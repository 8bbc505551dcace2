// Random schedules of a whole cluster under faults, a few in each run; `node test/stress/cluster-schedules.ts` runs as many as wanted. Each must
// end with equal copies, and with answers that one order of the operations explains.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runSchedule } from '../../../test/support/schedule.ts';
import { faultNames } from '../../../test/support/schedule-faults.ts';
import { printedSeed } from '../../../test/support/seed.ts';

/** Further ones follow, up to `countMax`, until every kind of fault happened. */
const count = 12;
const countMax = 200;

test(`${count} random schedules of a cluster contradict no rule and end with equal copies`, async (t) => {
  const first = printedSeed(t);
  const faults = new Set<string>();
  let acknowledged = 0;
  let done = 0;
  for (; done < count || (faults.size < faultNames.length && done < countMax); done++) {
    const seed = first + done;
    const report = await runSchedule(seed);
    assert.equal(report.problem, null, `DIVAN_SEED=${seed} node test/stress/cluster-schedules.ts 1`);
    for (const [name, times] of Object.entries(report.faults)) if (times > 0) faults.add(name);
    acknowledged += report.clients.acknowledged;
  }
  // Usually 60 to 130: schedules with a low quota, dropped collections, flushed or deleted buckets, or long outages acknowledge few.
  assert.ok(acknowledged > 20 * done, `${acknowledged} acknowledged writes`);
  assert.deepEqual([...faults].sort(), [...faultNames].sort(), 'every kind of fault happened');
});

test('a schedule repeats exactly from its seed', async () => {
  const third = await runSchedule(3);
  assert.deepEqual(await runSchedule(3), third);
  assert.notEqual((await runSchedule(4)).digest, third.digest);
});
