// Plans in sentences, from plans that the engine makes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import { planSentences } from './plan-sentences.ts';

async function sentencesOf(statement: string): Promise<string> {
  const datastore = new MemoryDatastore();
  datastore.add('t');
  datastore.add('u');
  await query(datastore, 'CREATE INDEX by_a ON t(a, b)');
  await query(datastore, 'CREATE INDEX by_tag ON t(DISTINCT tags)');
  const [row] = await query(datastore, `EXPLAIN ${statement}`);
  return planSentences((row as { plan: unknown }).plan).join('\n');
}

test('a plan in sentences names the index, what bounds it, and what is read', async () => {
  assert.equal(
    await sentencesOf('SELECT c FROM t WHERE a = 1 AND b > 2 AND c = 3 ORDER BY c LIMIT 5'),
    [
      'Scans the index by_a of t, because the statement bounds `a`, `b`: `a` = 1 and `b` > 2.',
      'Reads the documents of these keys from t.',
      'Keeps the rows where (((`t`.`a`) = 1) and ((`t`.`b`) > 2) and ((`t`.`c`) = 3)).',
      'Sorts the rows by (`t`.`c`), keeping the first 5 in memory.',
      'Stops after 5 rows.',
    ].join('\n'),
  );
});

test('a plan in sentences says when no document is read, and when nothing is sorted', async () => {
  const text = await sentencesOf('SELECT a, b FROM t WHERE a > 1 ORDER BY a');
  assert.match(
    text,
    /^Scans the index by_a of t, because the statement bounds `a`: `a` > 1\.\nThe index has every field/,
  );
  assert.match(text, /The index has the rows in the wanted order: nothing is sorted\.$/);
  assert.doesNotMatch(text, /Reads the documents/);
});

test('a plan in sentences says that a collection is read as a whole, and what may help', async () => {
  assert.match(
    await sentencesOf('SELECT * FROM u WHERE x = 1'),
    /^Reads the whole of u, because no index serves/,
  );
  assert.match(
    await sentencesOf('SELECT * FROM u USE KEYS "k"'),
    /^Takes the keys of the documents from the statement: "k"\./,
  );
});

test('a plan has sentences for arrays, joins, groups and changes', async () => {
  assert.match(
    await sentencesOf('SELECT * FROM t WHERE ANY x IN tags SATISFIES x = "y" END'),
    /Takes each document once/,
  );
  const joined = await sentencesOf('SELECT t.a, COUNT(*) FROM u JOIN t ON t.a = u.x GROUP BY t.a');
  assert.match(joined, /Scans the index by_a of t, because the statement bounds `a`: `a` = \(`u`\.`x`\)\./);
  assert.match(joined, /Groups the rows by \(`t`\.`a`\) and computes count\(\*\)\./);
  assert.match(await sentencesOf('DELETE FROM t WHERE a = 1'), /Deletes these documents from t\.$/);
});

test('a plan of another form has no sentences', () => {
  for (const plan of [
    undefined,
    null,
    5,
    'text',
    [],
    {},
    { '#operator': 'constructor' },
    { '~children': [1] },
  ])
    assert.deepEqual(planSentences(plan), []);
});
