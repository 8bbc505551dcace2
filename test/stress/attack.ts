// Attacks nodes and clouds for a given time: roles, commands and collections; hostile frames, forms and documents; damage in every kind of
// file. `node test/stress/attack.ts [minutes]`, default 30; DIVAN_SEED repeats a run.
import { randomFrom } from '../support/random.ts';
import { printedSeed } from '../support/seed.ts';
import { damageRounds } from './damage.ts';
import { hostileRounds } from './hostile.ts';
import { privilegeRounds } from './privileges.ts';

const minutes = Number(process.argv[2] ?? 30);
const sliceMs = Math.min(120_000, minutes * 30_000);
const random = randomFrom(printedSeed(console.log));
const endMs = performance.now() + minutes * 60_000;

const slice = () => ({ untilMs: Math.min(endMs, performance.now() + sliceMs) });
while (performance.now() < endMs) {
  console.log('privileges', await privilegeRounds(100, random));
  console.log('hostile', await hostileRounds(slice(), random));
  console.log('damage', await damageRounds(slice(), random, console.log));
}
console.log('nothing found');
