// The programs that the console of the cloud shows: values of any kind stay values.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snippets } from '../../../console/src/cloud/pages/snippets.ts';

test('each program has every value as a literal, whatever it contains, and no invisible characters', () => {
  const connection = {
    connectionString: 'couchbase://127.0.0.2,127.0.0.3:11310',
    username: 'a"; drop(`$(b)`); // \\ \u202e\u2028\u200b ü 😀 $1 {x}\n\t',
    bucket: "it's",
  };
  assert.deepEqual(
    snippets.map(({ sdk }) => sdk),
    ['Node.js', 'Python', 'Java', 'Go', '.NET'],
  );
  for (const { sdk, code } of snippets) {
    const program = code(connection);
    const literals = program.match(/"(?:[^"\\\n]|\\.)*"/g) ?? [];
    const values = literals.map((literal) => JSON.parse(literal) as unknown);
    for (const value of Object.values(connection)) assert.ok(values.includes(value), `${sdk}: ${value}`);
    assert.doesNotMatch(program, /[\u202e\u2028\u200b]/, sdk);
    assert.match(program, /DATABASE_PASSWORD/, sdk);
  }
});
