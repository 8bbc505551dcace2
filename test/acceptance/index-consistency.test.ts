// The short form of `test/stress/index-consistency.ts`.
import { test } from 'node:test';
import { consistencyRounds } from '../stress/index-consistency.ts';
import { aSeed } from '../support/random.ts';

test('consistent queries see all earlier writes, whatever flushes, drops, restarts and kills happen meanwhile', async (t) => {
  const rounds = 8;
  await consistencyRounds(rounds, aSeed(t));
});
