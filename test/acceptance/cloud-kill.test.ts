// A cloud that is killed at any time gets where it was told to go. More of it: test/stress/cloud-kill.ts.
import { test } from 'node:test';
import { cloudKills } from '../stress/cloud-kill.ts';
import { printedSeed } from '../support/seed.ts';

test('makes and deletes clusters whatever kills it: nothing is lost, doubled or left over', async (t) => {
  await cloudKills(5, printedSeed(t));
});
