// The short form of `test/stress/cloud-kill.ts`.
import { test } from 'node:test';
import { cloudKills } from '../stress/cloud-kill.ts';
import { printedSeed } from '../support/seed.ts';

test('a cloud that is killed and restarted completes the creation and deletion of clusters: none is lost, duplicated or left over', async (t) => {
  const kills = 5;
  await cloudKills(kills, printedSeed(t));
});
