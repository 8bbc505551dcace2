// Every operation of the official SDK with an expiry, in every form that the SDK accepts.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Collection, MutateInSpec, StoreSemantics } from 'couchbase';
import { eventually } from '../support/node-process.ts';
import { SdkNode } from '../support/sdk-node.ts';

type Expiry = number | Date;
type Write = (collection: Collection, name: string, expiry: Expiry) => Promise<unknown>;

const parts = [MutateInSpec.upsert('a', 1)];

/** Each sets the expiry of a document; operations on existing documents create it first. */
const writes: Record<string, Write> = {
  insert: (c, name, expiry) => c.insert(name, {}, { expiry }),
  upsert: (c, name, expiry) => c.upsert(name, {}, { expiry }),
  'upsert over a document': async (c, name, expiry) => {
    await c.upsert(name, {}, { expiry: 10 });
    await c.upsert(name, {}, { expiry });
  },
  replace: async (c, name, expiry) => {
    await c.upsert(name, {});
    await c.replace(name, {}, { expiry });
  },
  touch: async (c, name, expiry) => {
    await c.upsert(name, {});
    await c.touch(name, expiry);
  },
  getAndTouch: async (c, name, expiry) => {
    await c.upsert(name, { v: 1 });
    assert.deepEqual((await c.getAndTouch(name, expiry)).content, { v: 1 });
  },
  'mutateIn as upsert': (c, name, expiry) =>
    c.mutateIn(name, parts, { expiry, storeSemantics: StoreSemantics.Upsert }),
  'mutateIn as insert': (c, name, expiry) =>
    c.mutateIn(name, parts, { expiry, storeSemantics: StoreSemantics.Insert }),
  'mutateIn as replace': async (c, name, expiry) => {
    await c.upsert(name, {});
    await c.mutateIn(name, parts, { expiry });
  },
  increment: (c, name, expiry) => c.binary().increment(name, 1, { initial: 1, expiry }),
  decrement: (c, name, expiry) => c.binary().decrement(name, 1, { initial: 1, expiry }),
};

type Change = (collection: Collection, name: string) => Promise<unknown>;

const keeping: Record<string, Change> = {
  upsert: (c, name) => c.upsert(name, { a: 2 }, { preserveExpiry: true }),
  replace: (c, name) => c.replace(name, { a: 2 }, { preserveExpiry: true }),
  mutateIn: (c, name) => c.mutateIn(name, parts, { preserveExpiry: true }),
};

const dropping: Record<string, Change> = {
  upsert: (c, name) => c.upsert(name, { a: 2 }),
  replace: (c, name) => c.replace(name, { a: 2 }),
  mutateIn: (c, name) => c.mutateIn(name, parts),
  touch: (c, name) => c.touch(name, 0),
  getAndTouch: (c, name) => c.getAndTouch(name, 0),
};

describe('expiry in the official SDK', () => {
  let sdk: SdkNode;
  let collection: Collection;
  const expiryOf = async (name: string): Promise<number> =>
    (await collection.get(name, { withExpiry: true })).expiryTime ?? 0;
  /** Runs the writes of a document; then the document must expire this many seconds after a time between their begin and their end. */
  const expiresAfter = async (name: string, seconds: number, act: () => Promise<unknown>): Promise<void> => {
    const beganSeconds = Math.floor(Date.now() / 1000);
    await act();
    const endedSeconds = Math.ceil(Date.now() / 1000);
    const expiry = await expiryOf(name);
    const isInTime = expiry >= beganSeconds + seconds && expiry <= endedSeconds + seconds + 1;
    assert.ok(isInTime, `${name} expires at ${expiry}, written from ${beganSeconds} to ${endedSeconds}`);
  };

  before(async () => {
    sdk = await SdkNode.start();
    collection = sdk.collection;
  });
  after(() => sdk?.[Symbol.asyncDispose]());

  /** Above 30 days, the protocol sends an expiry as a point in time. */
  const monthAndMore = 40 * 86_400;
  for (const [operation, write] of Object.entries(writes)) {
    test(`${operation} accepts seconds, more than a month of seconds, and a date`, async () => {
      const forms: [name: string, seconds: number, expiry: () => Expiry][] = [
        ['seconds', 3600, () => 3600],
        ['month', monthAndMore, () => monthAndMore],
        ['date', 7200, () => new Date(Date.now() + 7200_000)],
      ];
      for (const [form, seconds, expiry] of forms) {
        const name = `${operation} ${form}`;
        await expiresAfter(name, seconds, () => write(collection, name, expiry()));
      }
    });
  }

  test('documents expire, whichever operation set the expiry', async () => {
    await Promise.all(
      Object.entries(writes).map(([operation, write]) => write(collection, `${operation} brief`, 1)),
    );
    for (const operation of Object.keys(writes)) {
      await eventually(async () =>
        assert.equal((await collection.exists(`${operation} brief`)).exists, false, operation),
      );
    }
  });

  for (const [operation, write] of Object.entries(keeping)) {
    test(`${operation} keeps the expiry on request`, async () => {
      const name = `kept by ${operation}`;
      await expiresAfter(name, 3600, () => collection.upsert(name, {}, { expiry: 3600 }));
      const expiry = await expiryOf(name);
      await write(collection, name);
      assert.equal(await expiryOf(name), expiry);
    });
  }

  for (const [operation, write] of Object.entries(dropping)) {
    test(`${operation} without an expiry removes it`, async () => {
      const name = `dropped by ${operation}`;
      await collection.upsert(name, {}, { expiry: 3600 });
      await write(collection, name);
      assert.equal(await expiryOf(name), 0);
    });
  }

  test('appending and counting keep the expiry', async () => {
    await collection.upsert('text', Buffer.from('b'), { expiry: 3600 });
    await collection.binary().increment('count', 1, { initial: 1, expiry: 3600 });
    const expiries = [await expiryOf('text'), await expiryOf('count')];
    assert.ok(expiries.every((expiry) => expiry > 0));
    await collection.binary().append('text', 'c');
    await collection.binary().prepend('text', 'a');
    await collection.binary().increment('count', 1);
    await collection.binary().decrement('count', 1);
    assert.deepEqual([await expiryOf('text'), await expiryOf('count')], expiries);
  });

  test('the expiry is returned with projected fields', async () => {
    const document = { a: { b: 1, c: 2 }, d: 3 };
    await expiresAfter('projected', 3600, () => collection.upsert('projected', document, { expiry: 3600 }));
    const expiry = await expiryOf('projected');
    const found = await collection.get('projected', { withExpiry: true, project: ['a.b', 'd', 'missing'] });
    assert.deepEqual(found.content, { a: { b: 1 }, d: 3 });
    assert.equal(found.expiryTime, expiry);
    const names = Array.from({ length: 20 }, (_, i) => `f${i}`);
    await collection.upsert('wide', Object.fromEntries(names.map((name, i) => [name, i])), { expiry: 3600 });
    const wide = await collection.get('wide', { withExpiry: true, project: names.slice(0, 18) });
    assert.equal(Object.keys(wide.content).length, 18);
    assert.ok(wide.expiryTime);
    assert.equal(wide.expiryTime, await expiryOf('wide'));
  });
});
