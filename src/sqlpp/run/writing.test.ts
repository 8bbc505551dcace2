import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contextOf, prepareOn, query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import { numberLiteral } from '../values/number-literal.ts';

test('a document with an expiration that the data service cannot store is not written, others are', async () => {
  const datastore = new MemoryDatastore();
  datastore.put(datastore.add('t'), 'old', { a: 1 });
  const errors: Error[] = [];
  const values = '("late", {}, {"expiration": 4294967296}), ("fine", {}, {"expiration": 4294967295})';
  await query(datastore, `UPSERT INTO t VALUES ${values}`, { errors });
  await query(datastore, 'UPDATE t USE KEYS "old" SET a = 2, META().expiration = 1e20', { errors });
  assert.equal(errors.length, 2);
  for (const { message } of errors)
    assert.match(message, /key (late|old) - cause: expiration: must be at most 4294967295/);
  const found = 'SELECT a, META().expiration FROM t USE KEYS ["late", "fine", "old"]';
  assert.deepEqual(await query(datastore, found), [{ expiration: 4294967295 }, { a: 1, expiration: 0 }]);
});

test('an expiration in nanoseconds is refused like one in milliseconds', async () => {
  const datastore = new MemoryDatastore();
  datastore.put(datastore.add('t'), 'old', { a: 1 });
  const errors: Error[] = [];
  await query(datastore, 'UPSERT INTO t VALUES ("new", {}, {"expiration": 1700000000000000001})', { errors });
  await query(datastore, 'UPDATE t USE KEYS "old" SET a = 2, META().expiration = 1700000000000000001', {
    errors,
  });
  assert.equal(errors.length, 2);
  for (const { message } of errors) assert.match(message, /expiration: must be at most 4294967295/);
  assert.deepEqual(await query(datastore, 'SELECT a FROM t USE KEYS ["new", "old"]'), [{ a: 1 }]);
});

test('a CAS equals the literal and the parameter of its digits, also that of RETURNING', async () => {
  const datastore = new MemoryDatastore();
  datastore.put(datastore.add('t'), 'k', { a: 1 });
  const digits = async (statement: string) => String((await query(datastore, statement))[0]);
  const read = 'SELECT RAW TO_STRING(META().cas) FROM t USE KEYS "k"';
  const before = await digits(read);
  assert.match(before, /^\d{19}$/);
  const returned = `UPDATE t SET a = 2 WHERE META().cas = ${before} RETURNING RAW TO_STRING(META().cas)`;
  const after = await digits(returned);
  assert.equal(await digits(read), after);
  const same = `SELECT RAW META().cas IN [${after}, $cas] AND META().cas = $cas FROM t`;
  const cas = numberLiteral(after);
  assert.deepEqual(await query(datastore, same, { named: new Map([['cas', cas]]) }), [true]);
});

test('a MERGE fails at a key that is no string, and keeps the changes before it', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (const id of ['first', 'last']) datastore.put(t, id, {});
  const merge = (actions: string) =>
    query(datastore, `MERGE INTO t USING ["first", 5, "last"] s ON KEY s ${actions}`);
  const isWrongKey = { code: 5030, message: /Invalid MERGE key 5 of type number/ };
  await assert.rejects(merge('WHEN MATCHED THEN UPDATE SET t.seen = 1'), isWrongKey);
  await assert.rejects(merge('WHEN NOT MATCHED THEN INSERT {"seen": 1}'), isWrongKey);
  assert.deepEqual(await query(datastore, 'SELECT RAW META().id FROM t WHERE seen = 1'), ['first']);
});

test('RETURNING * of a MERGE shows the source beside a changed document, and an inserted document alone', async () => {
  const datastore = new MemoryDatastore();
  datastore.put(datastore.add('t'), 'old', { a: 1 });
  const merge =
    'MERGE INTO t USING [{"k": "old"}, {"k": "new"}] s ON KEY s.k WHEN MATCHED THEN UPDATE SET t.a = 2 WHEN NOT MATCHED THEN INSERT {"a": 3} RETURNING *';
  assert.deepEqual(await query(datastore, merge), [{ s: { k: 'old' }, t: { a: 2 } }, { t: { a: 3 } }]);
});

test('writes that were made before the data service was lost are counted', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (const id of ['a', 'b', 'c']) datastore.put(t, id, {});
  const lost = new Error('lost');
  const { documents } = datastore;
  const write = documents.write.bind(documents);
  documents.write = async (keyspace, writes, options) => {
    const made = await write(keyspace, writes.slice(0, 2), options);
    return [...made, ...writes.slice(2).map(() => ({ status: 'unknown', error: lost }) as const)];
  };
  const statement = prepareOn(datastore, 'UPDATE t SET n = 1 RETURNING n');
  const { rows, outcome } = statement.program.run(statement, contextOf(datastore));
  await assert.rejects(async () => {
    for await (const _ of rows);
  }, lost);
  assert.equal(outcome.mutations, 2);
});

test('writes of a batch in which rows failed up to the error limit are counted', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (let at = 0; at < 40; at++) datastore.put(t, `k${at}`, {});
  const { documents } = datastore;
  const write = documents.write.bind(documents);
  documents.write = async (keyspace, writes, options) => {
    const made = await write(keyspace, writes.slice(20), options);
    return [...writes.slice(0, 20).map(() => ({ status: 'locked' }) as const), ...made];
  };
  const statement = prepareOn(datastore, 'UPDATE t SET n = 1');
  const context = contextOf(datastore);
  const { rows, outcome } = statement.program.run(statement, context);
  await assert.rejects(
    async () => {
      for await (const _ of rows);
    },
    { code: 1195 },
  );
  assert.deepEqual([outcome.mutations, outcome.errors.length], [20, context.errorLimit]);
});

test('META() of a document that the SELECT of an INSERT returns is that of the document', async () => {
  const datastore = new MemoryDatastore();
  const from = datastore.add('s');
  datastore.add('t');
  for (const id of ['a', 'b']) datastore.put(from, id, { n: id });
  await query(datastore, 'INSERT INTO t (KEY META(s).id, VALUE s) SELECT s FROM s WHERE s.n = "a"');
  await query(
    datastore,
    'UPSERT INTO t (KEY "x" || META(d).id, VALUE {"d": d, "id": META(d).id}) SELECT s AS d FROM s ORDER BY s.n DESC LIMIT 1',
  );
  await query(
    datastore,
    'INSERT INTO t (KEY "y" || META(d).id, VALUE {"id": FIRST META(d).id FOR d IN [1] END}) SELECT s AS d FROM s WHERE s.n = "a"',
  );
  assert.deepEqual(await query(datastore, 'SELECT META(t).id, t FROM t ORDER BY META(t).id'), [
    { id: 'a', t: { n: 'a' } },
    { id: 'xb', t: { d: { n: 'b' }, id: 'b' } },
    { id: 'ya', t: {} },
  ]);
});

test('the refusal of a key that is no string names its type in SQL++', async () => {
  const datastore = new MemoryDatastore();
  datastore.add('t');
  const errors: Error[] = [];
  await query(datastore, 'INSERT INTO t VALUES (9007199254740993, {}), ([1], {})', { errors });
  const types = errors.map(({ message }) => /number|bigint|array/.exec(message)?.[0]);
  assert.deepEqual(types, ['number', 'array']);
});

test('MERGE requires the privileges of its actions, and refuses keyspaces of the catalog', () => {
  const datastore = new MemoryDatastore();
  datastore.add('t');
  const into = (keyspace: string, actions: string): string =>
    `MERGE INTO ${keyspace} AS k USING [1] AS s ON KEY "a" ${actions}`;
  const required = (actions: string): string[] =>
    prepareOn(datastore, into('t', actions))
      .privileges.map(({ action }) => action)
      .sort();
  const [update, remove] = ['WHEN MATCHED THEN UPDATE SET k.a = 1', 'WHEN MATCHED THEN DELETE'];
  const insert = 'WHEN NOT MATCHED THEN INSERT {}';
  assert.deepEqual(required(update), ['update']);
  assert.deepEqual(required(remove), ['delete']);
  assert.deepEqual(required(insert), ['insert']);
  assert.deepEqual(required(`${update} ${insert}`), ['insert', 'update']);
  assert.deepEqual(required(`${update} WHERE k.b ${remove} ${insert}`), ['delete', 'insert', 'update']);
  for (const actions of [update, remove, insert])
    assert.throws(() => prepareOn(datastore, into('system:prepareds', actions)), /Not implemented/, actions);
});
