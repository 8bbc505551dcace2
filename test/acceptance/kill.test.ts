import { test } from 'node:test';
import { killRounds } from '../stress/kill.ts';

test('keeps every write acknowledged with persistToMajority through kill -9', async () => {
  await killRounds(4);
});

test('keeps them when the kill falls into a compaction', async () => {
  await killRounds(4, undefined, true);
});
