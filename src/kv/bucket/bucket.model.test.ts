// Random operations on a bucket beside a plain model of it, with evictions, expiry, stops, crashes, broken disks,
// dropped collections and compactions between them. Here the same sequences each time, so that a red run is about the change at hand;
// `node test/stress/model.ts` tries new ones for as long as one likes.
import { test } from 'node:test';
import { forms, tryForm } from '../../../test/support/bucket-commands.ts';

const usualSeed = 2026_11_20;

for (const form of forms) {
  test(`behaves as its model: ${form.name}`, async (t) => {
    const seed = Number(process.env['DIVAN_TEST_SEED'] ?? usualSeed) | 0;
    t.diagnostic(`seed ${seed}`);
    const tally = await tryForm(form, { seed, ...form.size });
    t.diagnostic(JSON.stringify(tally));
  });
}
