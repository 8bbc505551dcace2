// Replica reads of the official SDK on a node that has only active copies.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Collection, DocumentNotFoundError, DocumentUnretrievableError, LookupInSpec } from 'couchbase';
import { SdkNode } from '../support/sdk-node.ts';

for (const replicas of [0, 1]) {
  describe(`replica reads of a bucket with ${replicas} configured replicas`, () => {
    let sdk: SdkNode;
    let collection: Collection;

    before(async () => {
      sdk = await SdkNode.start();
      collection = await sdk.withBucket('copies', { replicas });
      await collection.upsert('there', { a: 1 });
    });
    after(() => sdk?.[Symbol.asyncDispose]());

    test('only the active copy answers', async () => {
      assert.deepEqual((await collection.getAnyReplica('there')).content, { a: 1 });
      const all = await collection.getAllReplicas('there');
      assert.deepEqual(
        all.map(({ content, isReplica }) => [content, isReplica]),
        [[{ a: 1 }, false]],
      );
    });

    test('sub-document lookups are answered by the active copy only', async () => {
      const specs = [LookupInSpec.get('a'), LookupInSpec.exists('b')];
      const any = await collection.lookupInAnyReplica('there', specs);
      assert.deepEqual([any.content[0]?.value, any.content[1]?.value, any.isReplica], [1, false, false]);
      const all = await collection.lookupInAllReplicas('there', specs);
      assert.deepEqual(
        all.map(({ content, isReplica }) => [content[0]?.value, isReplica]),
        [[1, false]],
      );
    });

    test('a missing document cannot be read from any copy', async () => {
      await assert.rejects(collection.getAnyReplica('missing'), DocumentUnretrievableError);
      await assert.rejects(
        collection.lookupInAnyReplica('missing', [LookupInSpec.get('a')]),
        DocumentUnretrievableError,
      );
      await assert.rejects(
        collection.lookupInAllReplicas('missing', [LookupInSpec.get('a')]),
        DocumentNotFoundError,
      );
    });
  });
}
