// Random operations on a bucket and on a plain model of it, with evictions, expiry, stops, crashes, broken disks,
// dropped collections and compactions in between. Each run tries new sequences; a failure shows the seed and the shortest
// sequence, `DIVAN_SEED` repeats it. `node test/stress/model.ts` runs for a given time.
import { test } from 'node:test';
import { bucketKinds, tryBucketKind } from '../../../test/support/bucket-commands.ts';
import { printedSeed } from '../../../test/support/seed.ts';

for (const kind of bucketKinds) {
  test(`a bucket acts as its model: ${kind.name}`, async (t) => {
    const seed = printedSeed(t);
    const tally = await tryBucketKind(kind, { seed, ...kind.size });
    t.diagnostic(JSON.stringify(tally));
  });
}
