// Users with random privileges in the bucket, a scope and collections send every command in every collection, in random order: each is answered
// as the published table says. `node test/stress/privileges.ts [users]`, default 200; DIVAN_SEED repeats a run.
import assert from 'node:assert/strict';
import { aRandomCase, askEachRow, expected, placesOf, withService } from '../support/privilege-cases.ts';
import { rows } from '../support/privilege-table.ts';
import { type Random, randomFrom } from '../support/random.ts';
import { printedSeed } from '../support/seed.ts';

export interface PrivilegeTally {
  requests: number;
  refused: number;
}

export async function privilegeRounds(users: number, random: Random): Promise<PrivilegeTally> {
  const cases = Array.from({ length: users }, (_, at) => aRandomCase(random, at));
  await using service = await withService(cases);
  const tally = { requests: 0, refused: 0 };
  for (const [index, commandCase] of cases.entries()) {
    const requests = rows
      .flatMap((row) => placesOf(row).map((place) => [row, place] as const))
      .map((pair) => ({ pair, order: random(1 << 30) }))
      .sort((a, b) => a.order - b.order)
      .map(({ pair }) => pair);
    const answers = await askEachRow(service, index, requests);
    const wrong = requests.flatMap(([row, place], at) => {
      const wanted = expected(row, place, commandCase);
      if (wanted !== 'done') tally.refused++;
      return answers[at] === wanted ? [] : [`${row.name} in ${place}: ${answers[at]} instead of ${wanted}`];
    });
    assert.deepEqual(wrong, [], commandCase.name);
    tally.requests += requests.length;
  }
  return tally;
}

if (import.meta.main) {
  const random = randomFrom(printedSeed(console.log));
  console.log(await privilegeRounds(Number(process.argv[2] ?? 200), random));
}
