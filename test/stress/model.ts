// Random operations on a bucket and on a plain model of it, on each kind of bucket in turn, for a given time. The first difference ends the
// run, and is reduced to the shortest sequence of operations that shows it. `node test/stress/model.ts [minutes]`, default 60; DIVAN_SEED
// repeats a run.
import { bucketKinds, type RunCounts, tryBucketKind } from '../support/bucket-commands.ts';
import { printedSeed } from '../support/seed.ts';

const minutes = Number(process.argv[2] ?? 60);
const firstSeed = printedSeed(console.log);
const endMs = Date.now() + minutes * 60_000;
const total: Record<string, RunCounts> = {};

for (let seed = firstSeed; Date.now() < endMs; seed++) {
  for (const kind of bucketKinds) {
    const { runs, length } = kind.size;
    console.log(`seed ${seed}: ${kind.name}`);
    const tally = await tryBucketKind(kind, { seed, runs: runs * 5, length: length * 2 });
    const sums = (total[kind.name] ??= tally);
    if (sums !== tally)
      for (const name of Object.keys(tally) as (keyof RunCounts)[]) sums[name] += tally[name];
  }
  console.log(`up to seed ${seed} no difference`, JSON.stringify(total));
}
