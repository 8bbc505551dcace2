// Transactions of the official SDK over documents: commits, rollbacks, and isolation from other clients.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  BucketType,
  type Collection,
  DocumentExistsError,
  DocumentNotFoundError,
  DurabilityLevel,
  TransactionExpiredError,
  TransactionFailedError,
  TransactionGetMultiSpec,
} from 'couchbase';
import { SdkNode } from '../support/sdk-node.ts';

describe('transactions of the official SDK', () => {
  let sdk: SdkNode;
  let collection: Collection;
  const read = async (name: string) => (await collection.get(name)).content;
  const isThere = async (name: string) => (await collection.exists(name)).exists;
  const transactions = () => sdk.cluster.transactions();

  before(async () => {
    sdk = await SdkNode.start();
    collection = sdk.collection;
  });
  after(() => sdk?.[Symbol.asyncDispose]());

  test('insert, replace and remove commit together', async () => {
    await collection.upsert('replaced', { v: 1 });
    await collection.upsert('removed', { v: 1 });
    const { unstagingComplete } = await transactions().run(async (attempt) => {
      await attempt.insert(collection, 'inserted', { by: 'transaction' });
      await attempt.replace(await attempt.get(collection, 'replaced'), { v: 2 });
      await attempt.remove(await attempt.get(collection, 'removed'));
    });
    assert.equal(unstagingComplete, true);
    assert.deepEqual(await read('inserted'), { by: 'transaction' });
    assert.deepEqual(await read('replaced'), { v: 2 });
    assert.equal(await isThere('removed'), false);
  });

  test('an attempt reads its own writes, and others do not before the commit', async () => {
    await collection.upsert('own', { v: 1 });
    await transactions().run(async (attempt) => {
      await attempt.replace(await attempt.get(collection, 'own'), { v: 2 });
      await attempt.insert(collection, 'own new', { v: 3 });
      assert.deepEqual((await attempt.get(collection, 'own')).content, { v: 2 });
      assert.deepEqual((await attempt.get(collection, 'own new')).content, { v: 3 });
      assert.deepEqual(await read('own'), { v: 1 });
      assert.equal(await isThere('own new'), false);
    });
    assert.deepEqual(await read('own new'), { v: 3 });
  });

  test('a transaction rolls back when its callback throws', async () => {
    await collection.upsert('kept', { v: 1 });
    await collection.upsert('kept too', { v: 1 });
    const failing = transactions().run(async (attempt) => {
      await attempt.insert(collection, 'never', {});
      await attempt.replace(await attempt.get(collection, 'kept'), { v: 2 });
      await attempt.remove(await attempt.get(collection, 'kept too'));
      throw new Error('changed my mind');
    });
    await assert.rejects(failing, TransactionFailedError);
    assert.deepEqual([await read('kept'), await read('kept too')], [{ v: 1 }, { v: 1 }]);
    assert.equal(await isThere('never'), false);
    await collection.insert('never', { v: 1 });
    await collection.replace('kept', { v: 3 });
  });

  test('concurrent transactions on a document succeed or fail completely', async () => {
    await collection.upsert('counted', { n: 0 });
    const count = () =>
      transactions().run(async (attempt) => {
        const found = await attempt.get(collection, 'counted');
        await attempt.replace(found, { n: found.content.n + 1 });
      });
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, count));
    const committed = outcomes.filter(({ status }) => status === 'fulfilled').length;
    assert.ok(committed > 0);
    assert.deepEqual(await read('counted'), { n: committed });
  });

  test('a conflicting plain write fails the transaction, which can be retried', async () => {
    await collection.upsert('raced', { n: 1 });
    const add = (between: () => Promise<unknown>) =>
      transactions().run(async (attempt) => {
        const found = await attempt.get(collection, 'raced');
        await between();
        await attempt.replace(found, { n: found.content.n + 1 });
      });
    await assert.rejects(
      add(() => collection.upsert('raced', { n: 10 })),
      TransactionFailedError,
    );
    assert.deepEqual(await read('raced'), { n: 10 });
    await add(async () => {});
    assert.deepEqual(await read('raced'), { n: 11 });
  });

  test('errors for missing and existing documents differ, and a transaction can continue after them', async () => {
    await collection.upsert('already', {});
    await transactions().run(async (attempt) => {
      await assert.rejects(attempt.get(collection, 'missing'), DocumentNotFoundError);
      await assert.rejects(attempt.insert(collection, 'already', {}), DocumentExistsError);
      await attempt.insert(collection, 'after all', { v: 1 });
    });
    assert.deepEqual(await read('after all'), { v: 1 });
  });

  test('a transaction can remove and recreate a document', async () => {
    await collection.upsert('again', { v: 1 });
    await transactions().run(async (attempt) => {
      await attempt.remove(await attempt.get(collection, 'again'));
      await attempt.insert(collection, 'again', { v: 2 });
    });
    assert.deepEqual(await read('again'), { v: 2 });
    await collection.remove('again');
    await transactions().run(async (attempt) => {
      await attempt.insert(collection, 'again', { v: 3 });
    });
    assert.deepEqual(await read('again'), { v: 3 });
  });

  test('a transaction reads several documents with one call', async () => {
    await collection.upsert('many 1', { v: 1 });
    await collection.upsert('many 2', { v: 2 });
    await transactions().run(async (attempt) => {
      const specs = ['many 1', 'many 2', 'missing'].map(
        (name) => new TransactionGetMultiSpec(collection, name),
      );
      const found = await attempt.getMulti(specs);
      assert.deepEqual([found.contentAt(0), found.contentAt(1)], [{ v: 1 }, { v: 2 }]);
      assert.equal(found.exists(2), false);
    });
  });

  test('a transaction over collections and buckets commits in all of them', async () => {
    const other = await sdk.withBucket('other');
    await sdk.cluster.bucket('b').collections().createCollection('side', '_default');
    const side = sdk.cluster.bucket('b').collection('side');
    await other.upsert('far', { v: 1 });
    await transactions().run(async (attempt) => {
      await attempt.insert(side, 'near', { v: 2 });
      await attempt.replace(await attempt.get(other, 'far'), { v: 2 });
    });
    assert.deepEqual((await other.get('far')).content, { v: 2 });
    assert.deepEqual((await side.get('near')).content, { v: 2 });
    await sdk.cluster.buckets().dropBucket('other');
  });

  test('bodies that are not JSON are staged and committed', async () => {
    const bytes = Buffer.from([0, 1, 2, 0xff]);
    await collection.upsert('binary', Buffer.from([9]));
    await transactions().run(async (attempt) => {
      await attempt.insert(collection, 'binary new', bytes);
      await attempt.replace(await attempt.get(collection, 'binary'), bytes);
    });
    assert.deepEqual([await read('binary'), await read('binary new')], [bytes, bytes]);
  });

  test('a transaction that times out leaves no changes', async () => {
    await collection.upsert('slow', { v: 1 });
    const slow = transactions().run(
      async (attempt) => {
        await attempt.replace(await attempt.get(collection, 'slow'), { v: 2 });
        await new Promise((resolve) => setTimeout(resolve, 600));
        await attempt.insert(collection, 'slow new', {});
      },
      { timeout: 300 },
    );
    await assert.rejects(slow, TransactionExpiredError);
    assert.deepEqual(await read('slow'), { v: 1 });
    assert.equal(await isThere('slow new'), false);
  });

  for (const [level, durabilityLevel] of Object.entries({
    none: DurabilityLevel.None,
    majority: DurabilityLevel.Majority,
    majorityAndPersistOnMaster: DurabilityLevel.MajorityAndPersistOnMaster,
    persistToMajority: DurabilityLevel.PersistToMajority,
  })) {
    test(`a transaction commits at durability ${level}`, async () => {
      await transactions().run(
        async (attempt) => {
          await attempt.insert(collection, `durable ${level}`, { level });
        },
        { durabilityLevel },
      );
      assert.deepEqual(await read(`durable ${level}`), { level });
    });
  }

  test('a transaction commits in an ephemeral bucket', async () => {
    const light = await sdk.withBucket('light', { type: BucketType.Ephemeral });
    await transactions().run(async (attempt) => {
      await attempt.insert(light, 'a', { v: 1 });
    });
    assert.deepEqual((await light.get('a')).content, { v: 1 });
    await sdk.cluster.buckets().dropBucket('light');
  });
});
