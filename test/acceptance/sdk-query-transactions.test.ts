// Transactions of the official SDK that mix documents and queries: the SDK stages documents itself until the first query, and hands the
// attempt over to the query service with it.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  type Collection,
  DocumentExistsError,
  DocumentNotFoundError,
  LookupInSpec,
  ParsingFailureError,
  QueryScanConsistency,
  TransactionExpiredError,
  TransactionFailedError,
} from 'couchbase';
import { eventually } from '../support/node-process.ts';
import { QueryClient } from '../support/query-client.ts';
import { SdkNode } from '../support/sdk-node.ts';

describe('transactions of the SDK with queries', () => {
  let sdk: SdkNode;
  let collection: Collection;
  const isThere = async (id: string) => (await collection.exists(id)).exists;
  const read = async (id: string) => (await collection.get(id)).content;
  const transactions = () => sdk.cluster.transactions();

  before(async () => {
    sdk = await SdkNode.start();
    collection = sdk.collection;
  });
  after(() => sdk?.[Symbol.asyncDispose]());

  test('documents before, between and after queries commit together', async () => {
    await collection.upsert('s1 replaced', { s: 1, v: 1 });
    await collection.upsert('s1 removed', { s: 1, v: 1 });
    await transactions().run(async (attempt) => {
      await attempt.insert(collection, 's1 first', { s: 1, v: 1 });
      await attempt.replace(await attempt.get(collection, 's1 replaced'), { s: 1, v: 2 });
      const { rows } = await attempt.query('SELECT META().id, v FROM b WHERE s = 1 ORDER BY META().id');
      assert.deepEqual(rows, [
        { id: 's1 first', v: 1 },
        { id: 's1 removed', v: 1 },
        { id: 's1 replaced', v: 2 },
      ]);
      await attempt.query('UPDATE b SET v = v * 10 WHERE s = 1');
      const first = await attempt.get(collection, 's1 first');
      assert.deepEqual(first.content, { s: 1, v: 10 });
      const again = await attempt.replace(first, { s: 1, v: 11 });
      await attempt.replace(again, { s: 1, v: 12 });
      await attempt.remove(await attempt.get(collection, 's1 removed'));
      await attempt.insert(collection, 's1 last', { s: 1, v: 5 });
      await assert.rejects(attempt.get(collection, 's1 removed'), DocumentNotFoundError);
      await assert.rejects(attempt.insert(collection, 's1 last', {}), DocumentExistsError);
      assert.deepEqual(await read('s1 replaced'), { s: 1, v: 1 });
      assert.equal(await isThere('s1 first'), false);
    });
    assert.deepEqual(await read('s1 first'), { s: 1, v: 12 });
    assert.deepEqual(await read('s1 replaced'), { s: 1, v: 20 });
    assert.deepEqual(await read('s1 last'), { s: 1, v: 5 });
    assert.equal(await isThere('s1 removed'), false);
  });

  test('an exception rolls back the changes staged by the SDK and by the service', async () => {
    await collection.upsert('s2', { v: 1 });
    const failing = transactions().run(async (attempt) => {
      await attempt.insert(collection, 's2 staged', {});
      await attempt.replace(await attempt.get(collection, 's2'), { v: 2 });
      await attempt.query('INSERT INTO b VALUES ("s2 query", {})');
      throw new Error('changed my mind');
    });
    await assert.rejects(failing, TransactionFailedError);
    assert.deepEqual(await read('s2'), { v: 1 });
    for (const id of ['s2 staged', 's2 query']) {
      assert.equal(await isThere(id), false);
      await collection.insert(id, {});
    }
  });

  test('a failed commit rolls back what the SDK had staged and statements changed again', async () => {
    for (const id of ['s9 staged', 's9 changed']) await collection.upsert(id, { v: 1 });
    let attempts = 0;
    const failing = transactions().run(async (attempt) => {
      if (++attempts > 1) throw new Error('once is enough');
      await attempt.replace(await attempt.get(collection, 's9 staged'), { v: 2 });
      await attempt.query('UPDATE b USE KEYS ["s9 staged", "s9 changed"] SET v = 3');
      await collection.upsert('s9 changed', { v: 4 });
    });
    await assert.rejects(failing, TransactionFailedError);
    assert.equal(attempts, 2);
    const { content } = await collection.lookupIn('s9 staged', [LookupInSpec.exists('txn', { xattr: true })]);
    assert.equal(content[0]?.value, false);
    assert.deepEqual(await read('s9 staged'), { v: 1 });
  });

  test('a document that the SDK has inserted and a statement deletes is gone after the commit, which is complete', async () => {
    const { unstagingComplete } = await transactions().run(async (attempt) => {
      await attempt.insert(collection, 's10', { v: 1 });
      await attempt.query('DELETE FROM b USE KEYS "s10"');
    });
    assert.equal(unstagingComplete, true);
    assert.equal(await isThere('s10'), false);
    await collection.insert('s10', {});
  });

  test('savepoints work within a transaction', async () => {
    await transactions().run(async (attempt) => {
      await attempt.query('INSERT INTO b VALUES ("s3 kept", {})');
      await attempt.query('SAVEPOINT s');
      await attempt.query('INSERT INTO b VALUES ("s3 not", {})');
      await attempt.query('ROLLBACK TO SAVEPOINT s');
    });
    assert.deepEqual([await isThere('s3 kept'), await isThere('s3 not')], [true, false]);
  });

  test('the SDK retries a conflict until it succeeds', async () => {
    await collection.upsert('s4', { n: 1 });
    let attempts = 0;
    await transactions().run(async (attempt) => {
      attempts++;
      await attempt.query('UPDATE b USE KEYS "s4" SET n = n + 1');
      if (attempts === 1) await collection.upsert('s4', { n: 10 });
    });
    assert.equal(attempts, 2);
    assert.deepEqual(await read('s4'), { n: 11 });
  });

  test('concurrent transactions on one document lose no change', async () => {
    await collection.upsert('s5', { n: 0 });
    const add = () =>
      transactions().run(async (attempt) => {
        await attempt.query('UPDATE b USE KEYS "s5" SET n = n + 1');
      });
    const done = await Promise.allSettled(Array.from({ length: 5 }, add));
    const committed = done.filter(({ status }) => status === 'fulfilled').length;
    assert.ok(committed > 0);
    assert.deepEqual(await read('s5'), { n: committed });
  });

  test('a transaction that times out is rolled back with that error', async () => {
    const slow = transactions().run(
      async (attempt) => {
        await attempt.query('INSERT INTO b VALUES ("s6", {})');
        for (;;) await attempt.query('SELECT 1');
      },
      { timeout: 1_500 },
    );
    await assert.rejects(slow, TransactionExpiredError);
    assert.equal(await isThere('s6'), false);
  });

  test('a transaction can continue after an error of a statement', async () => {
    await collection.upsert('s7', {});
    await transactions().run(async (attempt) => {
      await assert.rejects(attempt.query('INSERT INTO b VALUES ("s7", {})'), DocumentExistsError);
      await assert.rejects(attempt.query('SELEC 1'), ParsingFailureError);
      await attempt.query('INSERT INTO b VALUES ("s7 other", {})');
    });
    assert.equal(await isThere('s7 other'), true);
  });

  test('a single query can be a transaction', async () => {
    const query = new QueryClient(sdk.node.ready.node.query as string);
    await transactions().run(async (attempt) => {
      await attempt.query('INSERT INTO b VALUES ("s8", {"v": $v})', { parameters: { v: 8 } });
      assert.deepEqual(await query.rows('SELECT RAW v FROM b USE KEYS "s8"'), []);
    });
    assert.deepEqual(await query.rows('SELECT RAW v FROM b USE KEYS "s8"'), [8]);
  });

  test('statements over the whole bucket leave out the records of transactions, whichever way they read it', async () => {
    await transactions().run(
      async (attempt) => void (await attempt.insert(collection, 'recorded', { v: 1 })),
    );
    const scanConsistency = QueryScanConsistency.RequestPlus;
    const query = async (statement: string) => (await sdk.cluster.query(statement, { scanConsistency })).rows;
    const records = async (condition = '') =>
      (await query(`SELECT RAW META().id FROM b${condition}`)).filter((id) => String(id).startsWith('_txn:'));
    const record = '_txn:client-record';
    await eventually(async () =>
      assert.equal((await query(`SELECT META().id FROM b USE KEYS "${record}"`)).length, 1),
    );
    const assertLeftOut = async () => {
      assert.deepEqual(await records(), []);
      assert.deepEqual(await records(' LIMIT 1000'), []);
      assert.deepEqual(await records(' WHERE META().id LIKE "_txn:%"'), []);
      assert.deepEqual(await records(' WHERE META().cas > 0 AND META().xattrs.attempts IS MISSING'), []);
      await query('UPDATE b SET touched = true');
      await query(
        'MERGE INTO b USING b AS s ON META(s).id = META(b).id WHEN MATCHED THEN UPDATE SET b.merged = true',
      );
    };
    await assertLeftOut();
    await query('CREATE PRIMARY INDEX ON b');
    await query('CREATE INDEX ids ON b(META().id)');
    await assertLeftOut();
    await query('DELETE FROM b WHERE touched');
    assert.deepEqual(await query('SELECT RAW COUNT(*) FROM b WHERE META().id IS NOT MISSING'), [0]);
    await query('DROP INDEX ids ON b');
    await query('DROP PRIMARY INDEX ON b');
    assert.equal(await isThere(record), true);
  });
});
