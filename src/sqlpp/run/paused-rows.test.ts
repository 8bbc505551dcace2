// Long expressions of one row pause when the time slice is over, and go on where they paused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contextOf, prepareOn, query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import { outOfRange } from '../../../test/support/sql-errors.ts';
import { jsonText } from '../values/json-text.ts';
import type { Value } from '../values/value.ts';

const numbers = Array.from({ length: 20_000 }, (_, at) => at);
const objects = numbers
  .slice(0, 5_000)
  .map((n) => ({ n, name: `n${n % 100}`, nested: { list: [n, { m: n }] } }));

function aStore(): MemoryDatastore {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (const id of ['k1', 'k2']) datastore.put(t, id, { id, numbers, objects });
  return datastore;
}

/** Each look at the clock finds that `msPerLook` have passed: with 5, every time slice is over. */
async function runWithPauses(statement: string, msPerLook: number | (() => number), datastore = aStore()) {
  let nowMs = 0;
  let pauses = 0;
  let lastRandom = 0;
  const prepared = prepareOn(datastore, statement);
  const execution = prepared.program.run(prepared, {
    ...contextOf(datastore),
    monotonicMs: () => (nowMs += typeof msPerLook === 'number' ? msPerLook : msPerLook()),
    random: () => ++lastRandom / 1e6,
    pause: async () => {
      pauses++;
    },
  });
  const rows: string[] = [];
  for await (const batch of execution.rows) for (const row of batch) rows.push(jsonText(row as Value));
  return { rows, pauses, datastore };
}

/** Statements, and the fewest pauses with a row that is evaluated without a pause between its parts. */
const statements: readonly (readonly [text: string, pausesMin: number])[] = [
  ['SELECT RAW ANY x IN t.numbers SATISFIES x = 19999 END FROM t', 20],
  ['SELECT RAW EVERY x IN t.numbers SATISFIES x < 19999 END FROM t', 20],
  ['SELECT RAW ANY AND EVERY x IN t.numbers SATISFIES x >= 0 END FROM t', 20],
  ['SELECT RAW ARRAY x + y FOR x IN t.numbers, y IN t.numbers WHEN x % 3 = 1 END FROM t', 20],
  ['SELECT RAW ARRAY [i, o.name] FOR i : o IN t.objects WHEN o.n > 4000 END FROM t', 5],
  ['SELECT RAW FIRST x FOR x IN t.numbers WHEN x > 19990 END FROM t', 20],
  ['SELECT RAW OBJECT "n" || TO_STRING(o.n) : o.nested FOR o IN t.objects END FROM t', 5],
  ['SELECT RAW OBJECT CASE WHEN o.n = 4000 THEN 1 ELSE o.name END : o FOR o IN t.objects END FROM t', 5],
  // A loop that others are in, beside and around.
  ['SELECT RAW ARRAY (ARRAY x * y FOR y IN t.numbers WHEN y > 19990 END) FOR x IN [1, 2, 3] END FROM t', 60],
  ['SELECT RAW ANY x IN (ARRAY y + 1 FOR y IN t.numbers END) SATISFIES x = 20000 END FROM t', 40],
  [
    `SELECT RAW [ANY x IN t.numbers SATISFIES x = -1 END, t.id, EVERY x IN t.numbers SATISFIES x >= 0 END,
      ARRAY_LENGTH(ARRAY x FOR x IN t.numbers END)] FROM t`,
    60,
  ],
  ['SELECT SUM(ARRAY_LENGTH(ARRAY x FOR x IN t.numbers WHEN x < 7 END)) s, COUNT(*) c FROM t', 20],
  // Functions and operators of long values.
  ['SELECT RAW ANY x WITHIN t.objects SATISFIES x = -1 END FROM t', 20],
  ['SELECT RAW ARRAY x FOR x WITHIN t.objects WHEN x > 4998 END FROM t', 20],
  ['SELECT RAW [4999 WITHIN t.objects, -1 WITHIN t.objects, 7 NOT WITHIN t] FROM t', 20],
  ['SELECT RAW ARRAY_SORT(ARRAY x % 1013 FOR x IN t.numbers END) FROM t', 100],
  ['SELECT RAW [ARRAY_SORT(t.objects), ARRAY_SORT([3, MISSING, 1])] FROM t', 20],
  ['SELECT RAW [PAIRS(t), PAIRS(t.objects)] FROM t', 100],
  [
    'SELECT ARRAY_AGG(x % 1013) a, MEDIAN(x) m, ARRAY_AGG(DISTINCT x) d, COUNT(x) c FROM t UNNEST t.numbers x',
    60,
  ],
  ['SELECT RAW t.objects[*] FROM t', 10],
  ['SELECT RAW t.objects[*].nested FROM t', 10],
  ['SELECT RAW [ARRAY_DISTINCT(t.objects[*].name), ARRAY_DISTINCT(t.numbers)] FROM t', 10],
  ['SELECT RAW [TOKENS(t), TOKENS(t.objects, {"names": false}), TOKENS(t.numbers, 1)] FROM t', 10],
  ['SELECT RAW [ENCODE_JSON(t), ENCODE_JSON(t.objects)] FROM t', 2],
  ['SELECT RAW DECODE_JSON(ENCODE_JSON(t)) FROM t', 2],
  ['SELECT RAW DECODE_JSON(ENCODE_JSON(t) || "x") FROM t', 2],
  [
    'SELECT RAW ARRAY ARRAY_LENGTH(TOKENS(t.objects)) + x FOR x IN t.numbers WHEN x % 5000 = 1 END FROM t',
    10,
  ],
  // A row that is evaluated again for other reasons, too.
  [
    `SELECT RAW [ANY x IN t.numbers SATISFIES x = -1 END, ARRAY (SELECT RAW x + t.numbers[1])[0] FOR x IN t.numbers WHEN x % 4000 = 7 END]
      FROM t`,
    40,
  ],
  ['SELECT RAW ARRAY x FOR x IN t.numbers WHEN x IN (SELECT RAW u.numbers[100] FROM t AS u) END FROM t', 20],
  ['SELECT RAW ARRAY [x, (SELECT RAW x + 1)[0]] FOR x IN t.numbers WHEN x % 1000 = 7 END FROM t', 20],
  // Random values are drawn once for each element.
  ['SELECT RAW ARRAY_COUNT(ARRAY_DISTINCT(ARRAY RANDOM() FOR x IN t.numbers END)) FROM t', 0],
  // Also where an element needs a subquery, or the row does after the loop.
  ['SELECT RAW ARRAY [RANDOM(), (SELECT RAW x)[0]] FOR x IN t.numbers WHEN x > 19980 END FROM t', 20],
  [
    'SELECT RAW [ARRAY RANDOM() FOR x IN t.numbers WHEN x > 19990 END, RANDOM(), (SELECT RAW t.numbers[1])] FROM t',
    20,
  ],
];

/** The statements above change nothing. */
const readOnly = aStore();

for (const [text, pausesMin] of statements)
  test(`pauses do not change the rows of ${text.replaceAll(/\s+/g, ' ')}`, async () => {
    const [whole, paused] = [await runWithPauses(text, 0, readOnly), await runWithPauses(text, 5, readOnly)];
    assert.deepEqual(paused.rows, whole.rows);
    assert.ok(paused.pauses >= pausesMin, `${paused.pauses} pauses`);
  });

test('aggregates pause while they sort their values', async () => {
  const statementOf = (aggregates: string) => `SELECT RAW [${aggregates}] FROM t UNNEST t.numbers x`;
  const sorting = 'ARRAY_AGG(x % 1013), MEDIAN(x), ARRAY_AGG(DISTINCT -x)[0]';
  const [whole, paused] = [
    await runWithPauses(statementOf(sorting), 0),
    await runWithPauses(statementOf(sorting), 5),
  ];
  const unsorted = await runWithPauses(statementOf('COUNT(x % 1013), SUM(x), COUNT(DISTINCT -x)'), 5);
  assert.deepEqual(paused.rows, whole.rows);
  assert.ok(
    paused.pauses >= unsorted.pauses + 150,
    `${paused.pauses} pauses, ${unsorted.pauses} without sorting`,
  );
});

test('pauses do not change what UPDATE changes with FOR, and each element is changed once', async () => {
  const text = `UPDATE t SET t.count = 0, o.n = o.n + 1 FOR o IN t.objects WHEN o.n > 10 END,
    o.m = i FOR i : o IN t.objects END UNSET o.name FOR o IN t.objects END,
    o.nested FOR o IN t.objects WHEN ANY x IN o.nested.list SATISFIES x = 4999 END END RETURNING t.*`;
  const [whole, paused] = [await runWithPauses(text, 0), await runWithPauses(text, 5)];
  assert.deepEqual(paused.rows, whole.rows);
  assert.match(whole.rows[0] ?? '', /"n":5000\b/);
  assert.ok(paused.pauses >= 40, `${paused.pauses} pauses`);
});

test('UPDATE with FOR copies a large document with pauses', async () => {
  const text = 'UPDATE t SET o.x = 1 FOR o IN t.absent END, t.y = 1 RETURNING t.*';
  const without = 'UPDATE t SET t.y = 1 RETURNING t.*';
  const [whole, paused, uncopied] = [
    await runWithPauses(text, 0),
    await runWithPauses(text, 5),
    await runWithPauses(without, 5),
  ];
  assert.deepEqual(paused.rows, whole.rows);
  assert.ok(
    paused.pauses >= uncopied.pauses + 20,
    `${paused.pauses} pauses, ${uncopied.pauses} without a copy`,
  );
});

test('pauses do not change what UPDATE changes with FOR whose values are results of subqueries', async () => {
  const text = `UPDATE t SET o.n = (SELECT RAW o.n + 1)[0] FOR o IN t.objects WHEN o.n % 1000 = 7 END,
    o.m = (SELECT RAW COUNT(*) FROM t AS v)[0] FOR o IN t.objects END RETURNING t.*`;
  const [whole, paused] = [await runWithPauses(text, 0), await runWithPauses(text, 5)];
  assert.deepEqual(paused.rows, whole.rows);
  assert.match(whole.rows[0] ?? '', /"n":4008\b/);
  assert.ok(paused.pauses >= 40, `${paused.pauses} pauses`);
});

test('a slice may end at each look at the clock while the bounds of a subquery are evaluated', async () => {
  const datastore = new MemoryDatastore();
  const [t, u] = [datastore.add('t'), datastore.add('u')];
  for (const id of ['k1', 'k2']) datastore.put(t, id, { id });
  for (let n = 4_980; n < 5_000; n++) datastore.put(u, `k${n}`, { n });
  await query(datastore, 'CREATE INDEX iu ON u(n)');
  const text = `SELECT RAW (SELECT RAW u.n FROM u
    WHERE u.n = ARRAY_MIN(ARRAY x FOR x IN ARRAY_RANGE(0, 5000) WHEN x > 4990 AND t.id <> "" END) LIMIT 1) FROM t`;
  for (let look = 0; look < 60; look++) {
    let looks = 0;
    const { rows } = await runWithPauses(text, () => (++looks > look ? 5 : 0), datastore);
    assert.deepEqual(rows, ['[4991]', '[4991]'], `look ${look}`);
  }
});

test('pauses do not let an expression make a value that is too large', async () => {
  const datastore = new MemoryDatastore();
  // The functions count steps for the characters of texts.
  datastore.put(datastore.add('t'), 'k', { numbers, text: 'x'.repeat(1 << 20) });
  for (const value of ['TO_STRING(t.text)', '[TO_STRING(t.text), (SELECT RAW x)]'])
    for (const msPerLook of [0, 5]) {
      const text = `SELECT RAW ARRAY_LENGTH(ARRAY ${value} FOR x IN t.numbers END) FROM t`;
      await assert.rejects(
        runWithPauses(text, msPerLook, datastore),
        outOfRange,
        `${value}, ${msPerLook} ms`,
      );
    }
});

test('a hash join looks at the clock between the many matches of one row', async () => {
  const datastore = new MemoryDatastore();
  const u = datastore.add('u');
  for (let at = 0; at < 5_000; at++) datastore.put(u, `k${at}`, { k: 1 });
  const looksFor = async (left: string): Promise<number> => {
    let looks = 0;
    const look = (): number => Math.min(0, looks++);
    await runWithPauses(`SELECT RAW 1 FROM ${left} AS a NEST u USE HASH(build) ON u.k = a`, look, datastore);
    return looks;
  };
  const ofRow = (await looksFor('[1, 1]')) - (await looksFor('[1]'));
  assert.ok(ofRow >= 30, `${ofRow} looks`);
});

test('window functions may pause at each row of a large partition', async () => {
  const text =
    'SELECT RAW SUM(x) OVER () FROM (SELECT RAW n FROM t USE KEYS "k1" UNNEST t.numbers n) AS x LIMIT 1';
  const [whole, paused] = [await runWithPauses(text, 0), await runWithPauses(text, 5)];
  assert.deepEqual(paused.rows, whole.rows);
  assert.ok(paused.pauses > numbers.length, `${paused.pauses} pauses`);
});
