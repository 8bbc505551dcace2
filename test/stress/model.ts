// Random operations on a bucket beside a plain model of it, form after form, for as long as is asked:
// `node test/stress/model.ts [minutes]` with DIVAN_SEED, default 60. The first difference ends it, made as short as possible.
import { forms, type Tally, tryForm } from '../support/bucket-commands.ts';
import { printedSeed } from '../support/seed.ts';

const minutes = Number(process.argv[2] ?? 60);
const firstSeed = printedSeed(console.log);
const endMs = Date.now() + minutes * 60_000;
const total: Record<string, Tally> = {};

for (let seed = firstSeed; Date.now() < endMs; seed++) {
  for (const form of forms) {
    const { runs, length } = form.size;
    console.log(`seed ${seed}: ${form.name}`);
    const tally = await tryForm(form, { seed, runs: runs * 5, length: length * 2 });
    const sums = (total[form.name] ??= tally);
    if (sums !== tally) for (const name of Object.keys(tally) as (keyof Tally)[]) sums[name] += tally[name];
  }
  console.log(`up to seed ${seed} no difference`, JSON.stringify(total));
}
