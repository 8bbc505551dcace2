// A killed cloud completes its operations after a restart. The unbounded form is test/stress/cloud-kill.ts.
import { test } from 'node:test';
import { cloudKills } from '../stress/cloud-kill.ts';
import { printedSeed } from '../support/seed.ts';

test('creates and deletes clusters through kills: none is lost, duplicated or left over', async (t) => {
  await cloudKills(5, printedSeed(t));
});
