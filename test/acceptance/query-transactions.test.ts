// Transactions over the query service as plain requests.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Collection } from 'couchbase';
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

  test('changes are seen within, and by others with the commit', async () => {
    await collection.upsert('t1 kept', { t: 1, v: 1 });
    await collection.upsert('t1 gone', { t: 1, v: 1 });
    const within = await query.begin();
    await query.rows('INSERT INTO b VALUES ("t1 new", {"t": 1, "v": 10})', within);
    await query.rows('UPDATE b SET v = v + 1 WHERE t = 1', within);
    await query.rows('DELETE FROM b USE KEYS "t1 gone"', within);
    const all = 'SELECT META().id, v FROM b WHERE t = 1 ORDER BY META().id';
    const changed = [
      { id: 't1 kept', v: 2 },
      { id: 't1 new', v: 11 },
    ];
    assert.deepEqual(await query.rows(all, within), changed);
    assert.deepEqual(await query.rows('SELECT RAW v FROM b USE KEYS ["t1 gone", "t1 new"]', within), [11]);
    assert.deepEqual(await query.rows(all), [
      { id: 't1 gone', v: 1 },
      { id: 't1 kept', v: 1 },
    ]);
    await query.rows('COMMIT', within);
    assert.deepEqual(await query.rows(all), changed);
    assert.equal(await isThere('t1 gone'), false);
    assert.deepEqual(await read('t1 kept'), { t: 1, v: 2 });
    assert.equal(await query.code('SELECT 1', within), 17004);
  });

  test('a rollback leaves nothing', async () => {
    const within = await query.begin();
    await query.rows('UPSERT INTO b VALUES ("t2", {"t": 2})', within);
    await query.rows('ROLLBACK WORK', within);
    assert.equal(await isThere('t2'), false);
    assert.equal(await query.code('COMMIT', within), 17004);
  });

  test('savepoints take back what came after them', async () => {
    const within = await query.begin();
    const ids = () => query.rows('SELECT RAW META().id FROM b WHERE t = 3 ORDER BY META().id', within);
    await query.rows('INSERT INTO b VALUES ("t3 a", {"t": 3})', within);
    await query.rows('SAVEPOINT one', within);
    await query.rows('INSERT INTO b VALUES ("t3 b", {"t": 3})', within);
    await query.rows('SAVEPOINT two', within);
    await query.rows('DELETE FROM b USE KEYS "t3 a"', within);
    assert.deepEqual(await ids(), ['t3 b']);
    await query.rows('ROLLBACK TO SAVEPOINT two', within);
    assert.deepEqual(await ids(), ['t3 a', 't3 b']);
    await query.rows('ROLLBACK TO SAVEPOINT one', within);
    assert.deepEqual(await ids(), ['t3 a']);
    assert.equal(await query.code('ROLLBACK TO SAVEPOINT two', within), 17009);
    await query.rows('COMMIT', within);
    assert.deepEqual([await isThere('t3 a'), await isThere('t3 b')], [true, false]);
  });

  test('a statement with an error changes nothing, and the transaction goes on', async () => {
    const within = await query.begin();
    await query.rows('INSERT INTO b VALUES ("t4 a", {"t": 4})', within);
    const twice = 'INSERT INTO b VALUES ("t4 b", {"t": 4}), VALUES ("t4 a", {"t": 4})';
    assert.equal(await query.code(twice, within), 17012);
    assert.deepEqual(await query.rows('SELECT RAW META().id FROM b WHERE t = 4', within), ['t4 a']);
    await query.rows('COMMIT', within);
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

  test('a writer that came between fails the commit, to be run again', async () => {
    await collection.upsert('t6', { v: 1 });
    await collection.upsert('t6 other', { v: 1 });
    const within = await query.begin();
    await query.rows('UPDATE b USE KEYS ["t6 other", "t6"] SET v = 2', within);
    await collection.upsert('t6', { v: 10 });
    const { errors } = await query.ask('COMMIT', within);
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

  test('what a transaction may not have is refused by name', async () => {
    const within = await query.begin();
    const refused = async (statement: string, parameters: object) => {
      const [error] = (await query.ask(statement, { ...parameters })).errors ?? [];
      return `${error?.code} ${error?.msg}`;
    };
    const text = (kind: string, where: string) =>
      `17002 ${kind} statement is not supported ${where} transaction`;
    assert.equal(await refused('BEGIN WORK', within), text('START_TRANSACTION', 'within the'));
    assert.equal(await refused('CREATE INDEX i ON b(v)', within), text('CREATE_INDEX', 'within the'));
    assert.equal(await refused('COMMIT', {}), text('COMMIT', 'outside the'));
    assert.equal(await refused('SAVEPOINT s', {}), text('SAVEPOINT', 'outside the'));
    const implicit = { tximplicit: true };
    assert.equal(await refused('CREATE INDEX i ON b(v)', implicit), text('CREATE_INDEX', 'in implicit'));
    await query.rows('SET TRANSACTION ISOLATION LEVEL READ COMMITTED', within);
    await query.rows('ROLLBACK', within);
  });

  test('statements of a transaction keep their order, and its user', async () => {
    const within = await query.begin();
    await query.rows('SELECT 1', { ...within, txstmtnum: 2 });
    assert.equal(await query.code('SELECT 1', { ...within, txstmtnum: 2 }), 17005);
    await query.rows('SELECT 1', { ...within, txstmtnum: 3 });
    assert.equal(await query.code('SELECT 1', { txid: 'no such transaction' }), 17004);
    await query.rows('ROLLBACK', within);
  });

  test('index scans see the transaction’s own changes, in their order', async () => {
    await query.rows('CREATE INDEX `by t8` ON b(t8, DISTINCT tags)');
    for (let n = 1; n <= 6; n++) await collection.upsert(`t8 ${n}`, { t8: n * 10, tags: ['x', `n${n}`] });
    const within = await query.begin();
    await query.rows('INSERT INTO b VALUES ("t8 new", {"t8": 25, "tags": ["x", "new"]})', within);
    await query.rows('UPDATE b SET t8 = 65 WHERE t8 = 10', within);
    await query.rows('DELETE FROM b WHERE t8 = 40', within);
    const keys = 'SELECT RAW t8 FROM b WHERE t8 > 0';
    assert.deepEqual(await query.rows(`${keys} ORDER BY t8`, within), [20, 25, 30, 50, 60, 65]);
    assert.deepEqual(await query.rows(`${keys} ORDER BY t8 DESC LIMIT 2`, within), [65, 60]);
    assert.deepEqual(await query.rows(`${keys} ORDER BY t8 LIMIT 2 OFFSET 1`, within), [25, 30]);
    assert.deepEqual(await query.rows('SELECT RAW COUNT(*) FROM b WHERE t8 > 0', within), [6]);
    assert.deepEqual(await query.rows('SELECT RAW COUNT(*) FROM b WHERE t8 > 0'), [6]);
    const tagged = 'SELECT RAW META().id FROM b WHERE t8 > 0 AND ANY tag IN tags SATISFIES tag = "new" END';
    assert.deepEqual(await query.rows(tagged, within), ['t8 new']);
    assert.deepEqual(await query.rows(tagged), []);
    await query.rows('COMMIT', within);
    const after = { scan_consistency: 'request_plus' };
    assert.deepEqual(await query.rows(`${keys} ORDER BY t8`, after), [20, 25, 30, 50, 60, 65]);
  });
});
