import { test } from 'node:test';
import { killRounds } from '../stress/kill.ts';

test('keeps every write acknowledged with persistToMajority through kill -9', async () => {
  await killRounds(4);
});
