// Random documents and statements: indexes, spilling and preparing must not change results.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepareOn, query, runPrepared } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import { randomFrom } from '../../../test/support/random.ts';
import {
  aDocument,
  type Fraction,
  indexes,
  pick,
  scalar,
  sorted,
  statement,
} from '../../../test/support/random-statements.ts';
import { printedSeed } from '../../../test/support/seed.ts';
import type { Keyspace } from '../datastore/keyspace.ts';
import type { CollectionStatistics, ExpressionStatistics } from '../datastore/statistics.ts';
import { statisticsKeys } from '../plan/statistics-keys.ts';
import { parseExpression } from '../text/parser.ts';
import { collate } from '../values/collation.ts';
import type { Value } from '../values/value.ts';

const seed = printedSeed(console.log);

function fill(random: Fraction): { datastore: MemoryDatastore; t: Keyspace; u: Keyspace } {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  const u = datastore.add('u');
  for (let at = 0; at < 60; at++) datastore.put(t, `t${at}`, aDocument(random));
  for (let at = 0; at < 25; at++) {
    const ref = pick(random, [`t${Math.floor(random() * 70)}`, scalar(random)]);
    datastore.put(u, `u${at}`, { ...aDocument(random), ref });
  }
  return { datastore, t, u };
}

/** Statistics of some index keys, mostly wrong: they may make the planner choose any index. */
function randomStatistics(
  datastore: MemoryDatastore,
  random: Fraction,
): (keyspace: Keyspace) => CollectionStatistics {
  const seenOf = new Map<string, ExpressionStatistics>();
  const statisticsOf = (expression: string): ExpressionStatistics => {
    const present = seenOf.get(expression);
    if (present) return present;
    const bounds = Array.from({ length: Math.floor(random() * 4) }, () => scalar(random) as Value);
    const statistics = {
      expression,
      documents: 60,
      sampled: 60,
      perDocument: random() * 2,
      distinct: random() * 60,
      resolution: 1,
      gatheredMs: 0,
      bins: bounds.sort(collate).map((upTo) => ({ upTo, share: random(), distinct: random() * 9 })),
    };
    seenOf.set(expression, statistics);
    return statistics;
  };
  return (keyspace) => {
    const names = datastore.indexes
      .indexesOf(keyspace)
      .flatMap(({ definition }) => definition.keys)
      .flatMap(({ expression }) => statisticsKeys(parseExpression(expression)))
      .map(({ expression }) => expression);
    return new Map(names.map((name) => [name, statisticsOf(name)]));
  };
}

test(`indexes, spilling, preparing and statistics never change rows (seed ${seed})`, async () => {
  const below = randomFrom(seed);
  const random = (): number => below(1_000_000) / 1_000_000;
  for (let round = 0; round < 4; round++) {
    const { datastore } = fill(random);
    const statements = Array.from({ length: 40 }, () => statement(random));
    const expected = new Map<string, unknown[]>();
    for (const each of statements) expected.set(each, await query(datastore, each));
    const prepared = statements.map((each) => prepareOn(datastore, each));
    const chosen = indexes.filter(() => random() < 0.5);
    for (const create of chosen) await query(datastore, create);
    const statistics = randomStatistics(datastore, random);
    for (const [at, each] of statements.entries()) {
      const want = sorted(expected.get(each) as unknown[]);
      const note = `seed ${seed}\n${each}\n${chosen.join('\n')}`;
      assert.deepEqual(sorted(await query(datastore, each)), want, note);
      assert.deepEqual(sorted(await query(datastore, each, { spillBytes: 500 })), want, `spilled: ${note}`);
      assert.deepEqual(sorted(await query(datastore, each, { statistics })), want, `statistics: ${note}`);
      const plan = prepared[at];
      if (plan)
        assert.deepEqual(sorted(await runPrepared(datastore, plan)), want, `prepared before: ${note}`);
    }
  }
});

/** A predicate on small numbers. Two lists have more combinations than a plan has spans. */
function wide(random: Fraction, name: string): string {
  const number = (below: number): number => Math.floor(random() * below);
  const value = (): string => pick(random, [`${number(60)}`, `${number(60)}`, '[]', '[1]', '{"k": null}']);
  const list = (length: number): string => {
    const first = number(40);
    return `[${Array.from({ length }, (_, at) => first + at)}]`;
  };
  return pick(random, [
    () => `${name} IN ${list(40)}`,
    () => `${name} IN ${list(40)}`,
    () => `${name} IN [${value()}, ${value()}, [null]]`,
    () => `${name} ${pick(random, ['=', '<', '<=', '>', '>='])} ${value()}`,
    () => `${name} BETWEEN ${value()} AND ${value()}`,
  ])();
}

test(`LIMIT and OFFSET count the same rows with an index (seed ${seed})`, async () => {
  const below = randomFrom(seed);
  const random = (): number => below(1_000_000) / 1_000_000;
  const values = [[null], [1], [1, null], {}, { k: null }, { k: 1 }, null];
  const small = (): unknown => (random() < 0.8 ? Math.floor(random() * 60) : pick(random, values));
  for (const keys of ['a, b', 'b DESC, a', 'a INCLUDE MISSING, b DESC']) {
    const datastore = new MemoryDatastore();
    const t = datastore.add('t');
    for (let at = 0; at < 60; at++) datastore.put(t, `t${at}`, { a: small(), b: small() });
    const statements = Array.from({ length: 8 }, () => {
      const where = pick(random, [' AND ', ' AND ', ' OR ']);
      const from = `FROM t WHERE ${wide(random, 'a')}${where}${wide(random, 'b')}`;
      const limit = `LIMIT ${1 + below(12)} OFFSET ${below(4)}`;
      return { from, limit };
    });
    const answersOf = async ({ from, limit }: { from: string; limit: string }) => ({
      all: sorted(await query(datastore, `SELECT RAW META().id ${from}`)),
      limited: await query(datastore, `SELECT RAW META().id ${from} ${limit}`),
      ordered: await query(datastore, `SELECT RAW a ${from} ORDER BY a ${limit}`),
    });
    const expected: Awaited<ReturnType<typeof answersOf>>[] = [];
    for (const each of statements) expected.push(await answersOf(each));
    await query(datastore, `CREATE INDEX i ON t(${keys})`);
    for (const [at, each] of statements.entries()) {
      const { all, limited, ordered } = await answersOf(each);
      const note = `seed ${seed}\n${each.from.slice(0, 1_000)} ${each.limit}\n(${keys})`;
      assert.deepEqual(all, expected[at]?.all, note);
      assert.equal(limited.length, expected[at]?.limited.length, note);
      assert.ok(
        sorted(limited).every((id) => all.includes(id)),
        note,
      );
      assert.deepEqual(ordered, expected[at]?.ordered, note);
    }
  }
});

const scalarValues: readonly unknown[] = [null, false, true, -1, 0, 7, 20, 59, 1.5, '', 'b', '\uffff'];
const nestedValues: readonly unknown[] = [
  [],
  [null],
  [1],
  [1, null],
  [[null]],
  {},
  { k: null },
  { k: 1 },
  { k: [null] },
];
const parameterValues = scalarValues.concat(nestedValues);

/** A predicate whose bounds are parameters, or values of the outer query. */
function withParameters(random: Fraction, name: string): string {
  const value = (): string => pick(random, ['$1', '$2', '$n', '[$1]', '{"k": $n}', 'o.v', 'ARRAY_MAX([$2])']);
  const list = (): string => pick(random, ['$list', '[$1, $2]', 'o.list', '[$1, 1, 2, 3, 4, 5]']);
  return pick(random, [
    () => `${name} ${pick(random, ['=', '<', '<=', '>', '>='])} ${value()}`,
    () => `${value()} ${pick(random, ['=', '<', '>='])} ${name}`,
    () => `${name} BETWEEN ${value()} AND ${value()}`,
    () => `${name} IN ${list()}`,
  ])();
}

test(`LIMIT and OFFSET count the same rows for parameters of any type (seed ${seed})`, async () => {
  const below = randomFrom(seed);
  const random = (): number => below(1_000_000) / 1_000_000;
  const values = nestedValues.concat('a', 'b', true);
  const small = (): unknown => (random() < 0.5 ? below(60) : pick(random, values));
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (let at = 0; at < 80; at++) datastore.put(t, `t${at}`, { a: small(), b: small() });
  const statements = Array.from({ length: 24 }, () => {
    const both = random() < 0.4 ? ` AND ${withParameters(random, 'b')}` : '';
    const where = `WHERE ${withParameters(random, 'a')}${both}`;
    const limit = `LIMIT ${1 + below(9)} OFFSET ${below(3)}`;
    const outer = (inner: string) => `SELECT RAW r FROM [{"v": $n, "list": $list}] o LET r = (${inner})`;
    const [v1, v2, n] = [0, 1, 2].map(() => pick(random, parameterValues) as Value);
    const list = Array.from({ length: below(4) }, () => pick(random, parameterValues) as Value);
    return {
      all: outer(`SELECT RAW META(t).id FROM t ${where}`),
      limited: outer(`SELECT RAW META(t).id FROM t ${where} ${limit}`),
      ordered: outer(`SELECT RAW a FROM t ${where} ORDER BY a ${limit}`),
      parameters: {
        positional: [v1, v2],
        named: new Map<string, Value>([
          ['n', n],
          ['list', list],
        ]),
      },
    };
  });
  type Parameters = (typeof statements)[0]['parameters'];
  const answersOf = (run: (text: string, parameters: Parameters) => Promise<unknown[]>) =>
    Promise.all(
      statements.map(async ({ parameters, ...texts }) => {
        const rows = async (text: string) => (await run(text, parameters))[0] as unknown[];
        const [all, limited] = [await rows(texts.all), await rows(texts.limited)];
        return { all: sorted(all), limited: sorted(limited), ordered: await rows(texts.ordered) };
      }),
    );
  const adHoc = () => answersOf((text, parameters) => query(datastore, text, parameters));
  const prepared = () =>
    answersOf((text, parameters) => runPrepared(datastore, prepareOn(datastore, text), parameters));
  const expected = await adHoc();
  for (const keys of ['a', 'a, b', 'b DESC, a', 'a DESC INCLUDE MISSING, b']) {
    await query(datastore, `CREATE INDEX i ON t(${keys})`);
    for (const [how, answers] of [
      ['ad hoc', await adHoc()],
      ['prepared', await prepared()],
    ] as const)
      for (const [at, { all, limited, ordered }] of answers.entries()) {
        const { limited: text, parameters } = statements[at] as (typeof statements)[0];
        const note = `seed ${seed}, ${how}, (${keys})\n${text}\n${JSON.stringify([parameters.positional, ...parameters.named])}`;
        assert.deepEqual(all, expected[at]?.all, note);
        assert.equal(limited.length, expected[at]?.limited.length, note);
        assert.ok(
          limited.every((id) => all.includes(id)),
          note,
        );
        assert.deepEqual(ordered, expected[at]?.ordered, note);
      }
    await query(datastore, 'DROP INDEX t.i');
  }
});

const aliases = ['a', 'b', 'Z', 'é', 'a"b', '__proto__', 'x y', 'ab'];

test(`rows formatted as text equal rows formatted from objects (seed ${seed})`, async () => {
  const below = randomFrom(seed);
  const random = (): number => below(1_000_000) / 1_000_000;
  const { datastore } = fill(random);
  for (let round = 0; round < 60; round++) {
    const chosen = aliases.filter(() => random() < 0.5);
    const terms = [...chosen, 'last'].map((alias) => {
      const value = pick(random, [
        'd.a',
        'd.b',
        'd.c',
        'd',
        'META(d).id',
        'd.a || "\\n"',
        '1e400',
        'd.nothing',
      ]);
      return `${value} AS \`${alias}\``;
    });
    const select = `SELECT ${terms.join(', ')} FROM t d`;
    const members = (rows: unknown[]) => rows.map((row) => Object.entries(row as object));
    const asObjects = await query(datastore, `SELECT RAW r FROM (${select}) r`);
    assert.deepEqual(members(await query(datastore, select)), members(asObjects), select);
  }
});
