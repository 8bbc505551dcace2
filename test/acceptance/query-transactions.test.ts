// Transactions over the query service as plain requests.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Collection } from 'couchbase';
import { vbucketOf } from '#client/document-key.ts';
import { eventually } from '../support/node-process.ts';
import { QueryClient } from '../support/query-client.ts';
import { SdkNode } from '../support/sdk-node.ts';

describe('transactions over the query service', () => {
  let sdk: SdkNode;
  let collection: Collection;
  let query: QueryClient;
  const isThere = async (id: string) => (await collection.exists(id)).exists;
  const read = async (id: string) => (await collection.get(id)).content;

  before(async () => {
    sdk = await SdkNode.start();
    collection = sdk.collection;
    query = new QueryClient(sdk.node.ready.node.query as string);
  });
  after(() => sdk?.[Symbol.asyncDispose]());

  test('the transaction sees its changes, others see them after the commit', async () => {
    await collection.upsert('t1 kept', { t: 1, v: 1 });
    await collection.upsert('t1 gone', { t: 1, v: 1 });
    const transaction = await query.begin();
    await query.rows('INSERT INTO b VALUES ("t1 new", {"t": 1, "v": 10})', transaction);
    await query.rows('UPDATE b SET v = v + 1 WHERE t = 1', transaction);
    await query.rows('DELETE FROM b USE KEYS "t1 gone"', transaction);
    const all = 'SELECT META().id, v FROM b WHERE t = 1 ORDER BY META().id';
    const changed = [
      { id: 't1 kept', v: 2 },
      { id: 't1 new', v: 11 },
    ];
    assert.deepEqual(await query.rows(all, transaction), changed);
    assert.deepEqual(
      await query.rows('SELECT RAW v FROM b USE KEYS ["t1 gone", "t1 new"]', transaction),
      [11],
    );
    assert.deepEqual(await query.rows(all), [
      { id: 't1 gone', v: 1 },
      { id: 't1 kept', v: 1 },
    ]);
    await query.rows('COMMIT', transaction);
    assert.deepEqual(await query.rows(all), changed);
    assert.equal(await isThere('t1 gone'), false);
    assert.deepEqual(await read('t1 kept'), { t: 1, v: 2 });
    assert.equal(await query.code('SELECT 1', transaction), 17004);
  });

  test('transactions whose documents share a record commit at the same time', async () => {
    const ids = Array.from({ length: 100_000 }, (_, at) => `shared ${at}`)
      .filter((id) => vbucketOf(id) === 7)
      .slice(0, 32);
    assert.equal(ids.length, 32);
    const begun = await Promise.all(ids.map(() => query.begin()));
    for (const [at, id] of ids.entries())
      await query.rows(`INSERT INTO b VALUES ("${id}", {"shared": true})`, begun[at]);
    await Promise.all(begun.map((transaction) => query.rows('COMMIT', transaction)));
    assert.deepEqual(await query.rows('SELECT RAW COUNT(*) FROM b WHERE shared'), [ids.length]);
  });

  test('a rollback discards all changes', async () => {
    const transaction = await query.begin();
    await query.rows('UPSERT INTO b VALUES ("t2", {"t": 2})', transaction);
    await query.rows('ROLLBACK WORK', transaction);
    assert.equal(await isThere('t2'), false);
    assert.equal(await query.code('COMMIT', transaction), 17004);
  });

  test('rolling back to a savepoint undoes later changes', async () => {
    const transaction = await query.begin();
    const ids = () => query.rows('SELECT RAW META().id FROM b WHERE t = 3 ORDER BY META().id', transaction);
    await query.rows('INSERT INTO b VALUES ("t3 a", {"t": 3})', transaction);
    await query.rows('SAVEPOINT one', transaction);
    await query.rows('INSERT INTO b VALUES ("t3 b", {"t": 3})', transaction);
    await query.rows('SAVEPOINT two', transaction);
    await query.rows('DELETE FROM b USE KEYS "t3 a"', transaction);
    assert.deepEqual(await ids(), ['t3 b']);
    await query.rows('ROLLBACK TO SAVEPOINT two', transaction);
    assert.deepEqual(await ids(), ['t3 a', 't3 b']);
    await query.rows('ROLLBACK TO SAVEPOINT one', transaction);
    assert.deepEqual(await ids(), ['t3 a']);
    assert.equal(await query.code('ROLLBACK TO SAVEPOINT two', transaction), 17009);
    await query.rows('COMMIT', transaction);
    assert.deepEqual([await isThere('t3 a'), await isThere('t3 b')], [true, false]);
  });

  test('a failed statement changes nothing, and the transaction continues', async () => {
    const transaction = await query.begin();
    await query.rows('INSERT INTO b VALUES ("t4 a", {"t": 4})', transaction);
    const statement = 'INSERT INTO b VALUES ("t4 b", {"t": 4}), VALUES ("t4 a", {"t": 4})';
    assert.equal(await query.code(statement, transaction), 17012);
    assert.deepEqual(await query.rows('SELECT RAW META().id FROM b WHERE t = 4', transaction), ['t4 a']);
    await query.rows('COMMIT', transaction);
    assert.deepEqual([await isThere('t4 a'), await isThere('t4 b')], [true, false]);
  });

  test('tximplicit makes one statement a transaction', async () => {
    const implicit = { tximplicit: true };
    const all = 'INSERT INTO b VALUES ("t5 a", {"t": 5}), VALUES ("t5 b", {"t": 5}) RETURNING META().id';
    assert.equal((await query.rows(all, implicit)).length, 2);
    assert.equal(await isThere('t5 b'), true);
    const failing = 'INSERT INTO b VALUES ("t5 c", {"t": 5}), VALUES ("t5 a", {"t": 5})';
    assert.equal(await query.code(failing, implicit), 17012);
    assert.equal(await isThere('t5 c'), false);
  });

  test('a conflicting write fails the commit with a retryable error', async () => {
    await collection.upsert('t6', { v: 1 });
    await collection.upsert('t6 other', { v: 1 });
    const transaction = await query.begin();
    await query.rows('UPDATE b USE KEYS ["t6 other", "t6"] SET v = 2', transaction);
    await collection.upsert('t6', { v: 10 });
    const { errors } = await query.ask('COMMIT', transaction);
    assert.equal(errors?.[0]?.code, 17007);
    const { retry, rollback, raise } = errors?.[0]?.cause ?? {};
    assert.deepEqual({ retry, rollback, raise }, { retry: true, rollback: false, raise: 'failed' });
    assert.deepEqual([await read('t6'), await read('t6 other')], [{ v: 10 }, { v: 1 }]);
    await collection.replace('t6 other', { v: 3 });
  });

  test('of two transactions on a document the first to commit wins', async () => {
    await collection.upsert('t7', { v: 1 });
    const [first, second] = [await query.begin(), await query.begin()];
    await query.rows('UPDATE b USE KEYS "t7" SET v = 2', first);
    await query.rows('UPDATE b USE KEYS "t7" SET v = 3', second);
    await query.rows('COMMIT', second);
    assert.equal(await query.code('COMMIT', first), 17007);
    assert.deepEqual(await read('t7'), { v: 3 });
  });

  test('refuses unsupported statements, and names their kind', async () => {
    const transaction = await query.begin();
    const refused = async (statement: string, parameters: object) => {
      const [error] = (await query.ask(statement, { ...parameters })).errors ?? [];
      return `${error?.code} ${error?.msg}`;
    };
    const text = (kind: string, where: string) =>
      `17002 ${kind} statement is not supported ${where} transaction`;
    assert.equal(await refused('BEGIN WORK', transaction), text('START_TRANSACTION', 'within the'));
    assert.equal(await refused('CREATE INDEX i ON b(v)', transaction), text('CREATE_INDEX', 'within the'));
    assert.equal(await refused('COMMIT', {}), text('COMMIT', 'outside the'));
    assert.equal(await refused('SAVEPOINT s', {}), text('SAVEPOINT', 'outside the'));
    const implicit = { tximplicit: true };
    assert.equal(await refused('CREATE INDEX i ON b(v)', implicit), text('CREATE_INDEX', 'in implicit'));
    await query.rows('SET TRANSACTION ISOLATION LEVEL READ COMMITTED', transaction);
    await query.rows('ROLLBACK', transaction);
  });

  test('a transaction requires ascending statement numbers and a known id', async () => {
    const transaction = await query.begin();
    await query.rows('SELECT 1', { ...transaction, txstmtnum: 2 });
    assert.equal(await query.code('SELECT 1', { ...transaction, txstmtnum: 2 }), 17005);
    await query.rows('SELECT 1', { ...transaction, txstmtnum: 3 });
    assert.equal(await query.code('SELECT 1', { txid: 'no such transaction' }), 17004);
    await query.rows('ROLLBACK', transaction);
  });

  test('index scans include the changes of the transaction, in index order', async () => {
    await query.rows('CREATE INDEX `by t8` ON b(t8, DISTINCT tags)');
    for (let n = 1; n <= 6; n++) await collection.upsert(`t8 ${n}`, { t8: n * 10, tags: ['x', `n${n}`] });
    const transaction = await query.begin();
    await query.rows('INSERT INTO b VALUES ("t8 new", {"t8": 25, "tags": ["x", "new"]})', transaction);
    await query.rows('UPDATE b SET t8 = 65 WHERE t8 = 10', transaction);
    await query.rows('DELETE FROM b WHERE t8 = 40', transaction);
    const keys = 'SELECT RAW t8 FROM b WHERE t8 > 0';
    assert.deepEqual(await query.rows(`${keys} ORDER BY t8`, transaction), [20, 25, 30, 50, 60, 65]);
    assert.deepEqual(await query.rows(`${keys} ORDER BY t8 DESC LIMIT 2`, transaction), [65, 60]);
    assert.deepEqual(await query.rows(`${keys} ORDER BY t8 LIMIT 2 OFFSET 1`, transaction), [25, 30]);
    assert.deepEqual(await query.rows('SELECT RAW COUNT(*) FROM b WHERE t8 > 0', transaction), [6]);
    assert.deepEqual(await query.rows('SELECT RAW COUNT(*) FROM b WHERE t8 > 0'), [6]);
    const tagged = 'SELECT RAW META().id FROM b WHERE t8 > 0 AND ANY tag IN tags SATISFIES tag = "new" END';
    assert.deepEqual(await query.rows(tagged, transaction), ['t8 new']);
    assert.deepEqual(await query.rows(tagged), []);
    await query.rows('COMMIT', transaction);
    const after = { scan_consistency: 'request_plus' };
    assert.deepEqual(await query.rows(`${keys} ORDER BY t8`, after), [20, 25, 30, 50, 60, 65]);
  });

  test('lists open transactions, and an administrator can end them', async () => {
    const transaction = await query.begin({ txtimeout: '1m', atrcollection: 'b._default._default' });
    await query.rows('UPSERT INTO b VALUES ("t9", {"t": 9})', { ...transaction, txstmtnum: 7 });
    const text = 'SELECT t.* FROM system:transactions t WHERE t.id = $id';
    const [row] = (await query.rows(text, { $id: transaction.txid })) as Record<string, unknown>[];
    const { timeout, durabilityLevel, isolationLevel, atrCollection, lastStmtNum, status } = row ?? {};
    assert.deepEqual(
      { timeout, durabilityLevel, isolationLevel, atrCollection, lastStmtNum, status },
      {
        timeout: '1m0s',
        durabilityLevel: 'majority',
        isolationLevel: 'READ COMMITTED',
        status: 'Idle',
        atrCollection: 'default:b._default._default',
        lastStmtNum: 7,
      },
    );
    const { metrics } = await query.ask('SELECT 1', transaction);
    assert.match(String(metrics?.['transactionRemainingTime']), /s$/);
    assert.match(String(metrics?.['transactionElapsedTime']), /s$/);
    await query.rows('DELETE FROM system:transactions WHERE id = $id', { $id: transaction.txid });
    assert.equal(await query.code('COMMIT', transaction), 17010);
    assert.equal(await isThere('t9'), false);
  });

  test('an expired transaction has changed nothing, and reports the expiry', async () => {
    const transaction = await query.begin({ txtimeout: '200ms' });
    await query.code('UPSERT INTO b VALUES ("t10", {"t": 10})', transaction);
    await eventually(async () => assert.equal(await query.code('SELECT 1', transaction), 17010));
    const [error] = (await query.ask('COMMIT', transaction)).errors ?? [];
    assert.equal(error?.cause?.['raise'], 'expired');
    assert.equal(await isThere('t10'), false);
  });

  test('a statement during which its transaction expires fails', async () => {
    const transaction = await query.begin({ txtimeout: '200ms' });
    const slow =
      'UPSERT INTO b (KEY "t10", VALUE {"t": 10}) SELECT a FROM ARRAY_RANGE(0, 3000) a, ARRAY_RANGE(0, 1000) c WHERE a + c = 3998';
    const { errors, status } = await query.ask(slow, transaction);
    assert.deepEqual([errors?.[0]?.code, status], [17010, 'fatal']);
    assert.equal(await isThere('t10'), false);
  });

  test('a document keeps the expiry that an earlier statement of the transaction gave it', async () => {
    await collection.upsert('t17', { v: 1 }, { expiry: 5_000 });
    const transaction = await query.begin();
    const keeping = { ...transaction, preserve_expiry: true };
    await query.rows('INSERT INTO b VALUES ("t17 new", {}, {"expiration": 5000})', transaction);
    await query.rows('UPDATE b USE KEYS "t17" SET v = 2', transaction);
    await query.rows('UPDATE b USE KEYS ["t17", "t17 new"] SET v = 3', keeping);
    await query.rows('COMMIT', transaction);
    assert.deepEqual(
      await query.rows('SELECT RAW META().expiration > 0 FROM b USE KEYS ["t17", "t17 new"]'),
      [false, true],
    );
  });

  test('an index has the expiration that a changed document keeps', async () => {
    await query.rows('CREATE INDEX `by end` ON b(META().expiration) WHERE t19 = 1');
    await collection.upsert('t19', { t19: 1 }, { expiry: 5_000 });
    const transaction = await query.begin();
    await query.rows('UPDATE b USE KEYS "t19" SET v = 2', { ...transaction, preserve_expiry: true });
    const ending = 'SELECT RAW META().id FROM b WHERE META().expiration > 0 AND t19 = 1';
    assert.deepEqual(await query.rows(ending, transaction), ['t19']);
    await query.rows('ROLLBACK', transaction);
  });

  test('documents of several megabytes commit together with small ones', async () => {
    await collection.upsert('t18', { text: 'x' });
    const transaction = await query.begin({ txtimeout: '1m' });
    const $text = 'y'.repeat(3 << 20);
    await query.rows('UPDATE b USE KEYS "t18" SET text = $text', { ...transaction, $text });
    await query.rows('INSERT INTO b VALUES ("t18 new", {"text": $text})', { ...transaction, $text });
    await query.rows('COMMIT', transaction);
    const lengths = 'SELECT RAW LENGTH(text) FROM b USE KEYS ["t18", "t18 new"]';
    assert.deepEqual(await query.rows(lengths), [$text.length, $text.length]);
  });

  test('a key that no document can have is refused by its statement', async () => {
    const transaction = await query.begin();
    assert.equal(await query.code('INSERT INTO b VALUES ("", {})', transaction), 12009);
    await query.rows('COMMIT', transaction);
  });

  test('a memory quota bounds the changes of a transaction', async () => {
    const transaction = await query.begin({ memory_quota: 1 });
    const large = 'UPSERT INTO b VALUES ("t11", {"text": $text}), VALUES ("t11 too", {"text": $text})';
    assert.equal(await query.code(large, { ...transaction, $text: 'x'.repeat(700_000) }), 17016);
    assert.deepEqual(await query.rows('SELECT RAW META().id FROM b USE KEYS "t11"', transaction), []);
    await query.rows('ROLLBACK', transaction);
  });

  test('transactions of others can be neither used nor seen', async () => {
    const login = { username: 'other', password: 'password' };
    await sdk.cluster.users().upsertUser({ ...login, roles: ['query_select[b]'] });
    const other = new QueryClient(sdk.node.ready.node.query as string, login);
    await eventually(async () => assert.equal(await other.code('SELECT 1'), 0));
    const transaction = await query.begin();
    assert.equal(await other.code('SELECT 1', transaction), 17004);
    assert.equal(await other.code('ROLLBACK', transaction), 17004);
    assert.equal(await other.code('BEGIN WORK', { atrcollection: 'b._default._default' }), 13014);
    assert.equal(await other.code('BEGIN WORK', { atrcollection: 'nowhere.a.b' }), 13014);
    const data = { id: { txn: 't', atmpt: 'a' }, mutations: [mutation('t1 kept')] };
    assert.equal(await other.code('BEGIN WORK', { txdata: data }), 13014);
    assert.equal(await query.code('BEGIN WORK', { txdata: data }), 17006);
    assert.equal(await query.code('BEGIN WORK', { txdata: { id: 1 } }), 1040);
    await query.rows('ROLLBACK', transaction);
  });

  test('each error about a wrong collection path names its parameter', async () => {
    for (const wrong of ['b._default', '`b', 'b..c', '']) {
      const { errors } = await query.ask('EXECUTE __get', { args: [wrong, 'k'] });
      assert.deepEqual([errors?.[0]?.code, errors?.[0]?.msg.includes('$1')], [5003, true], wrong);
    }
    const begun = await query.ask('BEGIN WORK', { atrcollection: 'b._default' });
    assert.equal(begun.errors?.[0]?.code, 17006);
    assert.match(begun.errors?.[0]?.msg ?? '', /atrcollection b\._default must have the form/);
  });

  test('index aggregates and primary indexes count the changes of the transaction', async () => {
    await query.rows('CREATE PRIMARY INDEX ON b');
    const all = 'SELECT RAW COUNT(*) FROM b';
    const [before] = await query.rows(all, { scan_consistency: 'request_plus' });
    const transaction = await query.begin();
    await query.rows('INSERT INTO b VALUES ("t12 a", {"t8": 25}), VALUES ("t12 b", {"t8": 27})', transaction);
    await query.rows('DELETE FROM b USE KEYS "t8 new"', transaction);
    assert.deepEqual(await query.rows(all, transaction), [Number(before) + 1]);
    assert.deepEqual(
      await query.rows('SELECT RAW COUNT(*) FROM b WHERE META().id LIKE "t12%"', transaction),
      [2],
    );
    const grouped = 'SELECT t8, COUNT(*) AS n FROM b WHERE t8 BETWEEN 20 AND 30 GROUP BY t8 ORDER BY t8';
    assert.deepEqual(await query.rows(grouped, transaction), [
      { t8: 20, n: 1 },
      { t8: 25, n: 1 },
      { t8: 27, n: 1 },
      { t8: 30, n: 1 },
    ]);
    await query.rows('ROLLBACK', transaction);
  });

  test('prepared statements run in transactions with their changes', async () => {
    await query.rows('PREPARE t13 FROM SELECT RAW v FROM b WHERE META().id = "t13"');
    const transaction = await query.begin();
    await query.rows('INSERT INTO b VALUES ("t13", {"v": 13})', transaction);
    assert.deepEqual(await query.rows('EXECUTE t13', transaction), [13]);
    assert.deepEqual(await query.rows('EXECUTE t13'), []);
    await query.rows('ROLLBACK', transaction);
  });

  test('MERGE and RETURNING see the changes of the transaction', async () => {
    await collection.upsert('t14 a', { v: 1 });
    const transaction = await query.begin();
    await query.rows('INSERT INTO b VALUES ("t14 b", {"v": 1})', transaction);
    const merge =
      'MERGE INTO b USING [{"id": "t14 a"}, {"id": "t14 b"}, {"id": "t14 c"}] s ON KEY s.id ' +
      'WHEN MATCHED THEN UPDATE SET b.v = b.v + 1 WHEN NOT MATCHED THEN INSERT {"v": 100} RETURNING b.v';
    assert.deepEqual(
      ((await query.rows(merge, transaction)) as { v: number }[]).map(({ v }) => v).sort(),
      [100, 2, 2],
    );
    await query.rows('DELETE FROM b USE KEYS "t14 b"', transaction);
    await query.rows('INSERT INTO b VALUES ("t14 b", {"v": 7})', transaction);
    await query.rows('DELETE FROM b USE KEYS "t14 a"', transaction);
    await query.rows('UPSERT INTO b VALUES ("t14 a", {"v": 8})', transaction);
    await query.rows('COMMIT', transaction);
    assert.deepEqual(
      [await read('t14 a'), await read('t14 b'), await read('t14 c')],
      [{ v: 8 }, { v: 7 }, { v: 100 }],
    );
  });

  test('a cancelled statement changes nothing, and the transaction continues', async () => {
    const transaction = await query.begin({ txtimeout: '1m' });
    const slow =
      'INSERT INTO b (KEY UUID(), VALUE {"t": 15}) SELECT a FROM ARRAY_RANGE(0, 3000) a, ARRAY_RANGE(0, 3000) c';
    assert.equal(await query.code(slow, { ...transaction, timeout: '300ms' }), 1080);
    for (let n = 0; n < 3; n++)
      assert.deepEqual(await query.rows('SELECT RAW COUNT(*) FROM b WHERE t = 15', transaction), [0]);
    await query.rows('UPSERT INTO b VALUES ("t15", {"t": 15})', transaction);
    await query.rows('COMMIT', transaction);
    assert.deepEqual(await query.rows('SELECT RAW COUNT(*) FROM b WHERE t = 15'), [1]);
  });

  test('applies the maximum transaction timeout of the cluster', async () => {
    const timeoutOf = async () => {
      const { txid } = await query.begin({ txtimeout: '1m' });
      const text = 'SELECT RAW timeout FROM system:transactions WHERE id = $id';
      const rows = await query.rows(text, { $id: txid });
      await query.rows('ROLLBACK', { txid });
      return rows;
    };
    assert.deepEqual(await timeoutOf(), ['1m0s']);
    await sdk.node.request('/settings/querySettings', 'POST', { queryTxTimeout: '20s' });
    await eventually(async () => assert.deepEqual(await timeoutOf(), ['20s']));
    await sdk.node.request('/settings/querySettings', 'POST', { queryTxTimeout: '0ms' });
    await eventually(async () => assert.deepEqual(await timeoutOf(), ['1m0s']));
  });

  test('META() does not show the attributes of transactions', async () => {
    await collection.upsert('t16', { v: 1 });
    const text = 'SELECT RAW OBJECT_NAMES(META(d)) FROM b d USE KEYS "t16"';
    const transaction = await query.begin();
    assert.deepEqual(await query.rows(text, transaction), await query.rows(text));
    await query.rows('ROLLBACK', transaction);
  });

  const mutation = (id: string) => ({
    bkt: 'b',
    scp: '_default',
    coll: '_default',
    id,
    cas: '1',
    type: 'REPLACE',
  });
});
