// The privileges of every command, written from the published table and not from the declarations: each command in each collection,
// by users with exactly the required privileges, by users without one of them, and by roles.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commands } from '#wire/commands/index.ts';
import {
  askEachRow,
  casesOf,
  expected,
  placesOf,
  roleCases,
  withService,
} from '../../../test/support/privilege-cases.ts';
import { type Row, rows, streamRows, uncheckedOpcodes } from '../../../test/support/privilege-table.ts';

for (const [title, cases] of [
  ['one privilege more or less', [...casesOf([...rows, ...streamRows])]],
  ['roles', roleCases],
] as const) {
  test(`every command requires its published privileges: ${title}`, async (t) => {
    await using service = await withService(cases);
    const targets = rows.flatMap((row) => placesOf(row).map((place) => [row, place] as const));
    t.plan(cases.length);
    for (const [index, commandCase] of cases.entries()) {
      const answers = await askEachRow(service, index, targets);
      const wanted = targets.map(([row, place]) => expected(row, place, commandCase));
      const wrong = targets.flatMap(([row, place], at) =>
        answers[at] === wanted[at]
          ? []
          : [`${row.name} in ${place}: ${answers[at]} instead of ${wanted[at]}`],
      );
      t.assert.deepEqual(wrong, [], commandCase.name);
    }
  });

  test(`change streams require their published privileges: ${title}`, async (t) => {
    await using service = await withService(cases);
    const producers = [...cases.entries()].filter(([, { held }]) => held.bucket.includes('dcpProducer'));
    t.plan(producers.length);
    for (const [index, producerCase] of producers) {
      const targets = streamRows.flatMap((row) => placesOf(row).map((place) => [row, place] as const));
      const [opening] = streamRows;
      const answers = await askEachRow(service, index, [[opening as Row, 'orders'], ...targets.slice(1)]);
      const wrong = targets.flatMap(([row, place], at) => {
        const wanted = expected(row, place, producerCase);
        return answers[at] === wanted ? [] : [`${row.name} in ${place}: ${answers[at]} instead of ${wanted}`];
      });
      t.assert.deepEqual(wrong, [], producerCase.name);
    }
  });
}

test('the table has every command that a user of a bucket can send', () => {
  const listed = new Set([...rows, ...streamRows].map(({ request }) => request(0, '0').opcode));
  const missing = commands.filter(({ opcode }) => !listed.has(opcode) && !uncheckedOpcodes.has(opcode));
  assert.deepEqual(
    missing.map(({ name }) => name),
    [],
  );
});
