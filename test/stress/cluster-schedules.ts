// Random schedules of a whole cluster in one process: `node test/stress/cluster-schedules.ts [schedules]`, default 1,000. Each schedule has a
// seed of its own: the first one is that of DIVAN_SEED, or random, and is printed; each further one is higher by one. A schedule that
// contradicts the rules is repeated by `DIVAN_SEED=… node test/stress/cluster-schedules.ts 1` with its seed.
import { runSchedule } from '../support/schedule.ts';
import { printedSeed } from '../support/seed.ts';

const count = Number(process.argv[2] ?? 1_000);
const firstSeed = printedSeed(console.log);
const sums: Record<string, number> = {};
const add = (part: Readonly<Record<string, number>>): void => {
  for (const [name, value] of Object.entries(part)) sums[name] = (sums[name] ?? 0) + value;
};

for (let done = 1; done <= count; done++) {
  const { bucket, clients, epochs, faults, lastedMs, lost, problem, rollbacks, seed } = await runSchedule(
    firstSeed + done - 1,
  );
  add(clients);
  add(bucket);
  add(faults);
  add({ 'rolled back by key': rollbacks.byKey, 'rows removed': rollbacks.rows, emptied: rollbacks.emptied });
  add({ 'simulated seconds': lastedMs / 1000, promotions: epochs });
  add({
    'with all memories of a shard lost': lost.memory > 0 ? 1 : 0,
    'with a shard given up': lost.givenUp > 0 ? 1 : 0,
    contradictions: problem === null ? 0 : 1,
  });
  if (problem !== null) {
    process.exitCode = 1;
    console.log(`DIVAN_SEED=${seed}: ${problem}`);
  }
  if (done % 500 === 0 || done === count) console.log(`${done} schedules`, JSON.stringify(sums));
}
