import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

test('a field that the answer copies as text has the same value in every other clause', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  const awkward = 'tab\t"quoted" \u2028';
  datastore.put(t, '1', { s: 'b', n: 10, o: { s: awkward, l: [1, 'x'] }, z: null });
  datastore.put(t, '2', { s: awkward, n: 9 });
  const answers = async (statement: string, rows: unknown[]): Promise<void> =>
    assert.deepEqual(await query(datastore, statement), rows, statement);
  await answers('SELECT s, n, o, o.l, z FROM t', [
    { s: 'b', n: 10, o: { s: awkward, l: [1, 'x'] }, l: [1, 'x'], z: null },
    { s: awkward, n: 9 },
  ]);
  await answers('SELECT n, s FROM t ORDER BY n', [
    { n: 9, s: awkward },
    { n: 10, s: 'b' },
  ]);
  await answers('SELECT s, s || "!" u FROM t WHERE n = 10', [{ s: 'b', u: 'b!' }]);
  await answers('SELECT s, LENGTH(s) l FROM t ORDER BY s', [
    { s: 'b', l: 1 },
    { s: awkward, l: 16 },
  ]);
  await answers('SELECT s, (SELECT RAW t.s)[0] i FROM t WHERE n = 10', [{ s: 'b', i: 'b' }]);
  await answers('SELECT t.s, u.s us FROM t JOIN t u ON u.s = t.s AND u.n = 10', [{ s: 'b', us: 'b' }]);
  await answers('SELECT s, COUNT(*) c FROM t GROUP BY s ORDER BY s LIMIT 1', [{ s: 'b', c: 1 }]);
  await answers('SELECT s, ROW_NUMBER() OVER (ORDER BY s) r FROM t ORDER BY r LIMIT 1', [{ s: 'b', r: 1 }]);
  await answers('SELECT v.s FROM (SELECT s, n FROM t) v WHERE v.n = 10', [{ s: 'b' }]);
});
