// Every durability level of the official SDK over every operation that takes one, and the older persistTo.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  BucketType,
  type Collection,
  DurabilityImpossibleError,
  DurabilityLevel,
  DurabilityLevelNotAvailableError,
  MutateInSpec,
  StoreSemantics,
} from 'couchbase';
import { SdkNode } from '../support/sdk-node.ts';

/** The options that all operations below accept. */
interface Durability {
  durabilityLevel?: DurabilityLevel;
  durabilityPersistTo?: number;
  durabilityReplicateTo?: number;
}
type Write = (collection: Collection, name: string, durability: Durability) => Promise<unknown>;

/** Each writes the document; operations on existing documents find one named `name`. */
const writes: Record<string, Write> = {
  insert: (c, name, durability) => c.insert(`${name} new`, {}, durability),
  upsert: (c, name, durability) => c.upsert(name, {}, durability),
  replace: (c, name, durability) => c.replace(name, {}, durability),
  remove: (c, name, durability) => c.remove(name, durability),
  mutateIn: (c, name, durability) => c.mutateIn(name, [MutateInSpec.upsert('a', 1)], durability),
  'mutateIn as upsert': (c, name, durability) =>
    c.mutateIn(name, [MutateInSpec.upsert('a', 1)], { ...durability, storeSemantics: StoreSemantics.Upsert }),
  append: (c, name, durability) => c.binary().append(name, 'z', durability),
  prepend: (c, name, durability) => c.binary().prepend(name, 'a', durability),
  increment: (c, name, durability) => c.binary().increment(`${name} count`, 1, { initial: 1, ...durability }),
  decrement: (c, name, durability) => c.binary().decrement(`${name} count`, 1, { initial: 1, ...durability }),
};
const levels: Record<string, Durability> = {
  none: { durabilityLevel: DurabilityLevel.None },
  majority: { durabilityLevel: DurabilityLevel.Majority },
  majorityAndPersistOnMaster: { durabilityLevel: DurabilityLevel.MajorityAndPersistOnMaster },
  persistToMajority: { durabilityLevel: DurabilityLevel.PersistToMajority },
  'persistTo 1': { durabilityPersistTo: 1 },
};

describe('durability in the official SDK', () => {
  let sdk: SdkNode;

  before(async () => {
    sdk = await SdkNode.start();
  });
  after(() => sdk?.[Symbol.asyncDispose]());

  for (const [level, durability] of Object.entries(levels)) {
    test(`${level} works for every write`, async () => {
      for (const [operation, write] of Object.entries(writes)) {
        const name = `${level} ${operation}`;
        await sdk.collection.upsert(name, {});
        await assert.doesNotReject(write(sdk.collection, name, durability), name);
      }
      await sdk.collection.upsert('written', { level }, durability);
      assert.deepEqual((await sdk.collection.get('written')).content, { level });
    });
  }

  test('refuses durability that needs missing replicas, and writes nothing', async () => {
    const copies = await sdk.withBucket('copies', { replicas: 1 });
    await copies.upsert('there', { v: 1 });
    for (const durabilityLevel of [DurabilityLevel.Majority, DurabilityLevel.PersistToMajority]) {
      for (const [operation, write] of Object.entries(writes)) {
        await assert.rejects(
          write(copies, 'there', { durabilityLevel }),
          DurabilityImpossibleError,
          `${operation} ${durabilityLevel}`,
        );
      }
    }
    assert.deepEqual((await copies.get('there')).content, { v: 1 });
    assert.equal((await copies.exists('there new')).exists, false);
    assert.equal((await copies.exists('there count')).exists, false);
    // The SDK checks these itself by the configuration.
    await assert.rejects(
      copies.upsert('there', { v: 1 }, { durabilityPersistTo: 3 }),
      DurabilityImpossibleError,
    );
    await assert.rejects(
      copies.upsert('there', { v: 1 }, { durabilityReplicateTo: 2 }),
      DurabilityImpossibleError,
    );
    await sdk.cluster.buckets().dropBucket('copies');
  });

  test('an ephemeral bucket supports majority and refuses persistence', async () => {
    const light = await sdk.withBucket('light', { type: BucketType.Ephemeral });
    await light.upsert('a', {}, { durabilityLevel: DurabilityLevel.Majority });
    for (const durabilityLevel of [
      DurabilityLevel.MajorityAndPersistOnMaster,
      DurabilityLevel.PersistToMajority,
    ]) {
      await assert.rejects(
        light.upsert('a', { v: 2 }, { durabilityLevel }),
        DurabilityLevelNotAvailableError,
      );
    }
    assert.deepEqual((await light.get('a')).content, {});
    await sdk.cluster.buckets().dropBucket('light');
  });
});
