// A cloud that is killed at any time gets where it was told to go. More of it: test/stress/cloud-kill.ts.
import { test } from 'node:test';
import { cloudKills } from '../stress/cloud-kill.ts';

test('makes and deletes clusters whatever kills it: nothing is lost, doubled or left over', async (t) => {
  const seed = Number(process.env['DIVAN_TEST_SEED'] ?? process.hrtime()[1]);
  t.diagnostic(`seed ${seed}`);
  await cloudKills(5, seed);
});
