// Statements that read the keyspace that they change, with more rows than one batch has.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type EngineOptions, query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

/** The statements read each document for each one: no more documents than it takes. */
const twoBatches = 270;
/** Changes of which the first 256 are held in 20,000 bytes of memory, and the others are not. */
const threeBatches = 520;

function chain(count: number): MemoryDatastore {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  const other = datastore.add('other');
  for (let at = 0; at < count; at++) {
    datastore.put(t, `k${at}`, { n: at, g: 1 });
    datastore.put(other, `o${at}`, { n: at });
  }
  return datastore;
}

const neighbours = (alias: string) =>
  `(SELECT RAW SUM(e.g) FROM t e WHERE e.n BETWEEN ${alias}.n - 1 AND ${alias}.n + 1)[0]`;
const before = `EXISTS (SELECT 1 FROM t e WHERE e.n = d.n - 1)`;
/** Each document has the sum of itself and its neighbours, as they were before. */
const sumsOf = (count: number) => [
  { g: 2, c: 2 },
  { g: 3, c: count - 2 },
];
const groups = 'SELECT g, COUNT(*) AS c FROM t GROUP BY g ORDER BY g';
const counted = 'SELECT COUNT(*) AS c FROM t';

type Case = [statement: string, question: string, answer: unknown[]];

const statementsOf = (count: number): Case[] => [
  [`UPDATE t d SET g = ${neighbours('d')} WHERE d.n >= 0`, groups, sumsOf(count)],
  [`UPDATE t d SET g = neighbours(d.n) WHERE d.n >= 0`, groups, sumsOf(count)],
  [`DELETE FROM t d WHERE d.n = 0 OR ${before}`, counted, [{ c: 0 }]],
  [
    `UPSERT INTO t (KEY k, VALUE {"g": g}) SELECT META(d).id AS k, ${neighbours('d')} AS g FROM t d WHERE d.n >= 0`,
    groups,
    sumsOf(count),
  ],
  [
    `INSERT INTO t (KEY k, VALUE {"n": c}) SELECT "new" || META(o).id AS k, (SELECT RAW COUNT(e.n + o.n) FROM t e)[0] AS c FROM other o`,
    `SELECT n AS c FROM t WHERE META().id LIKE "new%" GROUP BY n`,
    [{ c: count }],
  ],
  [
    `MERGE INTO t USING t s ON KEY META(s).id WHEN MATCHED THEN UPDATE SET t.g = ${neighbours('s')}`,
    groups,
    sumsOf(count),
  ],
  [
    'MERGE INTO t USING t s ON t.n = s.n + 1 WHEN MATCHED THEN UPDATE SET t.g = s.g + 1',
    groups,
    [
      { g: 1, c: 1 },
      { g: 2, c: count - 1 },
    ],
  ],
  [
    'MERGE INTO t USING other s ON t.n = s.n WHEN MATCHED THEN UPDATE SET t.n = t.n + 1 WHEN NOT MATCHED THEN INSERT (KEY UUID(), VALUE {"g": 2})',
    groups,
    [{ g: 1, c: count }],
  ],
];

const neighboursFunction = `(SELECT RAW SUM(e.g) FROM t e WHERE e.n BETWEEN n - 1 AND n + 1)[0]`;
const userFunctions: NonNullable<EngineOptions['userFunctions']> = {
  find: ([name]) =>
    name === 'neighbours'
      ? { parameters: ['n'], isVariadic: false, language: 'inline', body: neighboursFunction }
      : undefined,
};

for (const [index, spillBytes, count] of [
  ['CREATE PRIMARY INDEX p ON t', 64 << 20, twoBatches],
  ['CREATE PRIMARY INDEX p ON t', 20_000, threeBatches],
  ['CREATE INDEX i ON t(n, g)', 64 << 20, twoBatches],
  ['CREATE INDEX i ON t(n, g)', 0, twoBatches],
] as const)
  test(`a statement reads its target as it was before, with ${index}, spilling above ${spillBytes} bytes`, async () => {
    for (const [statement, question, answer] of statementsOf(count)) {
      const datastore = chain(count);
      await query(datastore, index);
      await query(datastore, statement, { userFunctions, spillBytes });
      assert.deepEqual(await query(datastore, question), answer, statement);
    }
  });

test('RETURNING, attributes and expirations are those of changes that were written at once', async () => {
  const statement = (value: string) =>
    `UPDATE t d SET g = ${value}, META(d).expiration = 4000000000, META(d).xattrs.a = {"n": d.n}, META(d).xattrs.b = MISSING
     WHERE d.n >= 0 RETURNING d.*, META(d).expiration, META(d).cas > 0 AS written, META(d).xattrs`;
  const answers = [];
  for (const value of ['1 + 0 * d.n', `${neighbours('d')} * 0 + 1`])
    for (const spillBytes of [64 << 20, 20_000])
      answers.push(await query(chain(threeBatches), statement(value), { spillBytes }));
  assert.equal(answers[0]?.length, threeBatches);
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
});

test('a row of the source that matches a document which the same MERGE inserts is refused as a second insertion', async () => {
  const datastore = chain(threeBatches);
  const merge = `MERGE INTO t USING (SELECT o.n % 400 AS k FROM other o ORDER BY o.n) s ON KEY "m" || TO_STRING(s.k)
    WHEN MATCHED THEN UPDATE SET t.g = 5 WHEN NOT MATCHED THEN INSERT {"k": s.k}`;
  await assert.rejects(query(datastore, merge), { code: 5330 });
  const [row] = await query(
    datastore,
    'SELECT COUNT(*) AS c, COUNT(g) AS g FROM t WHERE META().id LIKE "m%"',
  );
  assert.deepEqual(row, { c: 400, g: 0 }, 'the rows before the second insertion are written');
});
