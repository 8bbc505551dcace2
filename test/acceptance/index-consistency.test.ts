// The bounded form of the stress test of consistent index scans.
import { test } from 'node:test';
import { consistencyRounds } from '../stress/index-consistency.ts';
import { aSeed } from '../support/random.ts';

test('consistent queries see all earlier writes, through flushes, drops, restarts and kill -9', async (t) => {
  await consistencyRounds(8, aSeed(t));
});
