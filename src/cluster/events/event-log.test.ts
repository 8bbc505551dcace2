import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { MemoryJournal } from '../../../test/support/memory-journal.ts';
import { EventLog } from './event-log.ts';

test('the newest events are those that happened last, also after the clock was set back', async () => {
  const clock = new ManualClock();
  const log = new EventLog({
    journals: { events: new MemoryJournal(), refusals: new MemoryJournal() },
    node: () => ({ otpNode: 'ns_1@one', hostname: 'one' }),
    clock,
    random: realRandom,
    log: silentLog,
  });
  for (const bucket of ['a', 'b', 'c', 'd', 'e']) {
    if (bucket === 'd') clock.setWall(-5 * 3_600_000);
    clock.advance(1_000);
    log.record('bucket_created', { bucket });
  }
  const newest = async (limit: number) =>
    (await log.read({ limit, isVisible: () => true })).map(({ attributes }) => attributes['bucket']);
  assert.deepEqual(await newest(2), ['d', 'e']);
  assert.deepEqual(await newest(4), ['b', 'c', 'd', 'e']);
});
