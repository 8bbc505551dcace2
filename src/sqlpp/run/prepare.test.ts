// Plans are cached for longer than the requests that make them, so they must not keep what belongs to a request in memory.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import type { Indexes } from '../datastore/indexes.ts';
import { compile } from '../expressions/compile.ts';
import { evaluationContext } from '../expressions/evaluation-context.fixture.ts';
import { parseExpression } from '../text/parser.ts';
import type { Value } from '../values/value.ts';
import type { Datastore, PreparedStatement } from './engine.ts';
import { prepareStatement } from './prepare.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const statements = [
  'SELECT a, (SELECT RAW COUNT(*) FROM t y WHERE y.a = x.a) AS n FROM t x WHERE x.a = $p ORDER BY a',
  'SELECT a FROM $keyspace AS x',
  'INSERT INTO t (KEY k, VALUE v) SELECT "k" AS k, a AS v FROM t',
  'UPSERT INTO t VALUES ("k", {"a": $p}) RETURNING a',
  'UPDATE t SET a = 1 WHERE a IN (SELECT RAW y.a FROM t y) RETURNING a',
  'DELETE FROM t WHERE a = $1',
  'MERGE INTO t USING [1] s ON KEY "k" WHEN MATCHED THEN UPDATE SET t.a = s',
  'CREATE INDEX i ON t(a)',
  'BUILD INDEX ON t(i)',
  'BUILD INDEX ON t((SELECT RAW a FROM t))',
  'INFER t',
  'EXPLAIN SELECT a FROM t',
];

interface PreparedWithRefs {
  readonly prepared: PreparedStatement;
  readonly datastore: WeakRef<Datastore>;
  readonly indexes: WeakRef<Indexes>;
  readonly named: WeakRef<ReadonlyMap<string, Value>>;
}

/** Prepares the statement with a datastore, indexes and parameters that, like those of a request in a transaction, nothing else refers to. */
function prepareWithRefs(stored: MemoryDatastore, text: string): PreparedWithRefs {
  const named = new Map([['p', 1]]);
  const { documents, indexAdmin, catalog } = stored;
  const indexes: Indexes = {
    indexesOf: (keyspace) => stored.indexes.indexesOf(keyspace),
    scan: (scan) => stored.indexes.scan(scan),
    figures: (index) => stored.indexes.figures(index),
  };
  const datastore: Datastore = { documents, indexes, indexAdmin, catalog, find: (name) => stored.find(name) };
  return {
    prepared: prepareStatement(text, { datastore, named, sequentialScans: true }),
    datastore: new WeakRef(datastore),
    indexes: new WeakRef(indexes),
    named: new WeakRef(named),
  };
}

test('a plan holds neither the datastore of its first request, which has the session, nor the indexes, which have the changes of a transaction, nor the parameters', async () => {
  const stored = new MemoryDatastore();
  stored.add('t');
  const plans = statements.map((text) => prepareWithRefs(stored, text));
  await nextTurn();
  collectGarbage();
  const keepingMemory = plans.filter(({ datastore, indexes, named }) =>
    [datastore, indexes, named].some((each) => each.deref() !== undefined),
  );
  assert.deepEqual(
    keepingMemory.map(({ prepared }) => prepared.text),
    [],
  );
  assert.equal(plans.length, statements.length);
});

test('a compiled IN does not keep the list of a parameter in memory', async () => {
  const evaluate = compile(parseExpression('$1 IN $2'));
  const found = [1, 20].map((value) => {
    const list = Array.from({ length: 10 }, (_, at) => at);
    const context = evaluationContext({ positional: [value, list] });
    return { result: evaluate([], context), again: evaluate([], context), list: new WeakRef(list) };
  });
  assert.deepEqual(
    found.map(({ result, again }) => [result, again]),
    [
      [true, true],
      [false, false],
    ],
  );
  await nextTurn();
  collectGarbage();
  assert.deepEqual(
    found.map(({ list }) => list.deref()),
    [undefined, undefined],
  );
});

test('a compiled LIKE does not keep the long pattern of a parameter in memory', () => {
  const evaluate = compile(parseExpression('$1 LIKE $2'));
  const matches = (length: number): Value =>
    evaluate([], evaluationContext({ positional: ['a'.repeat(length), '_'.repeat(length)] }));
  matches(10);
  collectGarbage();
  const { heapUsed } = process.memoryUsage();
  assert.equal(matches(1_000_000), true);
  collectGarbage();
  assert.ok(process.memoryUsage().heapUsed - heapUsed < 4e6);
});

test('a statement whose keyspace is a parameter without a value is refused when it runs', async () => {
  const stored = new MemoryDatastore();
  const refused = (text: string, parameter: string) =>
    assert.rejects(query(stored, text), (error: { code?: number; message: string }) => {
      assert.equal(error.code, 5010, error.message);
      assert.match(error.message, new RegExp(`no value for ${parameter}`));
      return true;
    });
  await refused('SELECT a FROM $1 AS t USE KEYS $2', 'positional parameter \\$1');
  await refused('SELECT (SELECT a FROM $k AS t USE KEYS "a") AS q', 'named parameter \\$k');
  await refused('UPDATE $k SET a = 1', 'named parameter \\$k');
  await refused('INSERT INTO $1 VALUES ("a", 1)', 'positional parameter \\$1');
  await refused('DELETE FROM $1 USE KEYS "a"', 'positional parameter \\$1');
});
