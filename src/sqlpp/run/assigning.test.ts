// What SET and UNSET change in a document.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import { outOfRange } from '../../../test/support/sql-errors.ts';

async function changed(document: unknown, changes: string): Promise<unknown> {
  const datastore = new MemoryDatastore();
  datastore.put(datastore.add('t'), 'k', document);
  await query(datastore, `UPDATE t USE KEYS "k" ${changes}`);
  return (await query(datastore, 'SELECT RAW t FROM t USE KEYS "k"'))[0];
}

test('SET of a position beyond the end of an array fills the positions between with NULL', async () => {
  assert.deepEqual(await changed({ a: [1] }, 'SET a[3] = 4'), { a: [1, null, null, 4] });
  assert.deepEqual(await changed({ a: [1] }, 'SET a[1] = 2, a[2] = MISSING'), { a: [1, 2, null] });
  for (const at of [32_768, 3_500_000, 1e12])
    await assert.rejects(changed({ a: [1] }, `SET a[${at}] = 4`), /5035|Out of range/);
  const long = new Array<number>(40_000).fill(1);
  assert.deepEqual(await changed({ a: long }, 'SET a[40000] = 2'), { a: [...long, 2] });
});

test('SET computes paths from the document as earlier terms and iterations of FOR changed it, and values from the original document', async () => {
  const document = { a: [1], b: [7, 8] };
  for (const [change, a] of [
    ['SET a[ARRAY_LENGTH(a)] = 2, a[ARRAY_LENGTH(a)] = ARRAY_LENGTH(a)', [1, 2, 1]],
    ['SET a[ARRAY_LENGTH(a)] = x FOR x IN b END', [1, 7, 8]],
    ['SET a[LENGTH(META().id)] = 9', [1, 9]],
    ['SET a[-1] = 5', [5]],
  ] as const)
    assert.deepEqual(await changed(document, change), { ...document, a }, change);
});

test('UNSET with FOR applies to the elements as earlier terms left them; with WHEN it changes nothing once an earlier term changed their number', async () => {
  const document = { a: [{ w: 1 }, { w: 2 }], b: [1] };
  const b = [{ w: 5 }];
  assert.deepEqual(await changed(document, 'SET b = [{"w": 5}] UNSET x.w FOR x WITHIN t END'), {
    a: [{}, {}],
    b: [{}],
  });
  const withWhen = 'SET b = [{"w": 5}] UNSET x.w FOR x WITHIN t WHEN x.w > 0 END';
  assert.deepEqual(await changed(document, withWhen), { ...document, b });
  assert.deepEqual(await changed(document, 'UNSET x.w FOR x WITHIN t WHEN x.w > 1 END'), {
    a: [{ w: 1 }, {}],
    b: [1],
  });
});

test('a document gets a limited number of NULLs between the ends of its arrays and set positions', async () => {
  const long = 'SET a[ARRAY_LENGTH(a) + 20000] = 1 FOR x IN b END';
  await assert.rejects(changed({ a: [], b: [1, 2] }, long), outOfRange);
  const b = new Array<number>(33_000).fill(1);
  const appending = 'SET a[ARRAY_LENGTH(a)] = x FOR x IN b END UNSET b';
  assert.deepEqual(await changed({ a: [], b }, appending), { a: b });
});

test('a FOR over too many combinations of elements, or nested elements, is refused', async () => {
  const list = new Array<number>(5_000).fill(1);
  for (const loops of [
    'FOR x IN a FOR y IN a END',
    'FOR x WITHIN ARRAY_REPEAT(ARRAY_REPEAT(a, 1000), 1000) END',
  ])
    await assert.rejects(changed({ a: list }, `SET b = 1 ${loops}`), outOfRange, loops);
});

test('a FOR that reads the list it changes does not parse the list for each of its elements', async (t) => {
  const length = 300;
  // Parsing a string of other characters than ASCII decodes it.
  const decoded = t.mock.method(TextDecoder.prototype, 'decode');
  const a = Array.from({ length }, () => ({ v: 'é' }));
  const read = await changed({ a }, 'SET x.n = ARRAY_LENGTH(a[*].v) FOR x IN a END');
  assert.deepEqual(read, { a: a.map((item) => ({ ...item, n: length })) });
  const strings = decoded.mock.callCount();
  assert.ok(strings >= length && strings < 2 * length, `${strings} strings`);
});

test('SET and UNSET reach elements by position and members by name, and ignore every other path', async () => {
  const document = { a: [1, 2], o: { k: 1 } };
  for (const change of [
    'SET a[-3] = 5',
    'SET a["0"] = 5',
    'SET a.["0"] = 5',
    'SET o["k"] = 5',
    'SET a[0.5] = 5',
  ])
    assert.deepEqual(await changed(document, change), document, change);
  for (const change of ['UNSET a[0]', 'UNSET a[-1]', 'UNSET a[9]', 'UNSET o["k"]'])
    assert.deepEqual(await changed(document, change), document, change);
  assert.deepEqual(await changed(document, 'SET o.["k"] = 5, a[0] = MISSING'), { a: [null, 2], o: { k: 5 } });
});

test('SET inside a value of a parameter or constant changes one document, and not the value', async () => {
  const own = { x: [{ y: 1 }] };
  const named = new Map([['p', own]]);
  for (const term of [
    'SET a = $p, a.[META().id] = 1',
    'SET a = $p, a.x[0].[META().id] = 1',
    'SET a = $p, e.[META().id] = 1 FOR e IN a.x END',
    'SET a = $p UNSET a.x[0].y',
  ]) {
    const datastore = new MemoryDatastore();
    const t = datastore.add('t');
    for (const key of ['k1', 'k2']) datastore.put(t, key, {});
    const rows = await query(datastore, `UPDATE t USE KEYS ["k1", "k2"] ${term} RETURNING t.*`, { named });
    const texts = rows.map((row) => JSON.stringify(row));
    assert.equal(texts[1], texts[0]?.replace('k1', 'k2'), term);
    assert.deepEqual(own, { x: [{ y: 1 }] }, term);
  }
});

test('an UPDATE that would remove the whole document is refused', async () => {
  for (const change of ['UNSET t', 'SET t = MISSING'])
    await assert.rejects(changed({ a: 1 }, change), {
      code: 5100,
      message: 'UPDATE alias t not found in item.',
    });
  assert.deepEqual(await changed({ a: 1 }, 'SET t = MISSING, t = {"b": 2}'), { b: 2 });
});
