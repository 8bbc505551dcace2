// Random operations on a bucket and on a plain model of it, with evictions, expiry, stops, crashes, broken disks,
// dropped collections and compactions in between. Each run tries new sequences; a failure shows the seed and the shortest
// sequence, `DIVAN_SEED` repeats it. `node test/stress/model.ts` runs until it is stopped.
import { test } from 'node:test';
import { forms, tryForm } from '../../../test/support/bucket-commands.ts';
import { printedSeed } from '../../../test/support/seed.ts';

for (const form of forms) {
  test(`behaves as its model: ${form.name}`, async (t) => {
    const seed = printedSeed(t);
    const tally = await tryForm(form, { seed, ...form.size });
    t.diagnostic(JSON.stringify(tally));
  });
}
