// The bounded forms of the stress tests that kill a node during writes and changes of administrators.
import { test } from 'node:test';
import { adminKillRounds } from '../stress/admin-kill.ts';
import { killRounds } from '../stress/kill.ts';
import { aSeed } from '../support/random.ts';

test('keeps every write acknowledged with persistToMajority through kill -9', async (t) => {
  await killRounds(4, aSeed(t));
});

test('keeps every write acknowledged with persistToMajority when a kill interrupts a compaction', async (t) => {
  await killRounds(4, aSeed(t), undefined, true);
});

test('keeps acknowledged changes of administrators through kill -9, and nothing partial', async (t) => {
  await adminKillRounds(5, aSeed(t)(2 ** 31));
});
