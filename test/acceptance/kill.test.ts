// The short forms of `test/stress/kill.ts` and `test/stress/admin-kill.ts`.
import { test } from 'node:test';
import { adminKillRounds } from '../stress/admin-kill.ts';
import { killRounds } from '../stress/kill.ts';
import { aSeed } from '../support/random.ts';

/** The second kill is that of a node that had started after a kill. */
const rounds = 2;

test('the node keeps every write acknowledged with persistToMajority after kill -9', async (t) => {
  await killRounds(rounds, aSeed(t));
});

test('the node keeps every write acknowledged with persistToMajority when a kill interrupts a compaction', async (t) => {
  const compacting = true;
  await killRounds(rounds, aSeed(t), undefined, compacting);
});

test('the node keeps acknowledged changes of administrators after kill -9, and no change in part', async (t) => {
  const changeRounds = 3;
  await adminKillRounds(changeRounds, aSeed(t)(2 ** 31));
});
