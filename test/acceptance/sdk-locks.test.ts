// Locks of documents with the official SDK.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  CasMismatchError,
  type Collection,
  DocumentNotFoundError,
  DocumentNotLockedError,
  MutateInSpec,
  TimeoutError,
} from 'couchbase';
import { eventually } from '../support/node-process.ts';
import { SdkNode } from '../support/sdk-node.ts';

/** Milliseconds: long enough for several refused attempts. */
const timeout = 300;

describe('locks of the official SDK', () => {
  let sdk: SdkNode;
  let collection: Collection;

  before(async () => {
    sdk = await SdkNode.start();
    collection = sdk.collection;
  });
  after(() => sdk?.[Symbol.asyncDispose]());

  test('other clients can read a locked document, but not write it', async () => {
    await collection.upsert('locked', { v: 1 });
    const { cas } = await collection.getAndLock('locked', 30);
    assert.deepEqual((await collection.get('locked')).content, { v: 1 });
    assert.equal((await collection.exists('locked')).exists, true);
    const writes = [
      () => collection.upsert('locked', {}, { timeout }),
      () => collection.replace('locked', {}, { timeout }),
      () => collection.remove('locked', { timeout }),
      () => collection.touch('locked', 100, { timeout }),
      () => collection.getAndTouch('locked', 100, { timeout }),
      () => collection.getAndLock('locked', 30, { timeout }),
      () => collection.mutateIn('locked', [MutateInSpec.upsert('v', 2)], { timeout }),
      () => collection.binary().append('locked', 'x', { timeout }),
      () => collection.binary().increment('locked', 1, { timeout }),
    ];
    const outcomes = await Promise.allSettled(writes.map((write) => write()));
    for (const [index, outcome] of outcomes.entries()) {
      assert.ok(outcome.status === 'rejected' && outcome.reason instanceof TimeoutError, `write ${index}`);
    }
    await collection.unlock('locked', cas);
    await collection.upsert('locked', { v: 2 });
  });

  test('a write by the holder releases the lock', async () => {
    await collection.upsert('held', { v: 1 });
    const first = await collection.getAndLock('held', 30);
    await collection.mutateIn('held', [MutateInSpec.upsert('v', 2)], { cas: first.cas });
    const second = await collection.getAndLock('held', 30);
    await collection.remove('held', { cas: second.cas });
    await assert.rejects(collection.getAndLock('held', 30), DocumentNotFoundError);
  });

  test('a lock is released once, with its CAS', async () => {
    const stored = await collection.upsert('given', {});
    await assert.rejects(collection.unlock('given', stored.cas), DocumentNotLockedError);
    const { cas } = await collection.getAndLock('given', 30);
    await assert.rejects(
      collection.unlock('given', stored.cas, { timeout }),
      (error) => error instanceof CasMismatchError || error instanceof TimeoutError,
    );
    await collection.unlock('given', cas);
    await assert.rejects(collection.unlock('missing', cas), DocumentNotFoundError);
  });

  test('a lock expires', async () => {
    await collection.upsert('brief', { v: 1 });
    await collection.getAndLock('brief', 1);
    await eventually(() => collection.upsert('brief', { v: 2 }, { timeout }));
    assert.deepEqual((await collection.get('brief')).content, { v: 2 });
  });
});
