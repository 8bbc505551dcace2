// Range scans of the official SDK, in persistent and ephemeral buckets.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  BucketType,
  type Collection,
  MutationState,
  type MutationToken,
  PrefixScan,
  RangeScan,
  SamplingScan,
  type ScanResult,
  ScanTerm,
} from 'couchbase';
import { SdkNode } from '../support/sdk-node.ts';

const names = Array.from({ length: 100 }, (_, i) => `scan-${String(i).padStart(3, '0')}`);
const idsOf = (found: readonly ScanResult[]): string[] => found.map(({ id }) => id).sort();

describe('range scans of the official SDK', () => {
  let sdk: SdkNode;
  let collection: Collection;
  let consistentWith: MutationState;

  before(async () => {
    sdk = await SdkNode.start();
    collection = sdk.collection;
    const stored = await Promise.all(names.map((name) => collection.upsert(name, { name })));
    consistentWith = new MutationState(...stored.map(({ token }) => token as MutationToken));
  });
  after(() => sdk?.[Symbol.asyncDispose]());

  test('a range includes or excludes its ends', async () => {
    const ids = async (from: string, fromOpen: boolean, to: string, toOpen: boolean) =>
      idsOf(await collection.scan(new RangeScan(new ScanTerm(from, fromOpen), new ScanTerm(to, toOpen))));
    assert.deepEqual(await ids('scan-010', false, 'scan-020', false), names.slice(10, 21));
    assert.deepEqual(await ids('scan-010', true, 'scan-020', true), names.slice(11, 20));
    assert.deepEqual(await ids('x', false, 'y', false), []);
  });

  test('an open end reaches the last key, an open start the first', async () => {
    assert.deepEqual(idsOf(await collection.scan(new RangeScan(new ScanTerm('scan-095')))), names.slice(95));
    const upTo = new RangeScan(undefined, new ScanTerm('scan-004', true));
    assert.deepEqual(idsOf(await collection.scan(upTo)), names.slice(0, 4));
    assert.deepEqual(idsOf(await collection.scan(new RangeScan())), names);
  });

  test('a prefix scan returns documents with content, CAS and expiry, or only ids', async () => {
    await collection.upsert('other-1', { v: 1 }, { expiry: 3600 });
    const [found] = await collection.scan(new PrefixScan('other-'));
    assert.deepEqual([found?.id, found?.content], ['other-1', { v: 1 }]);
    assert.ok((found?.expiryTime ?? 0) > Date.now() / 1000 + 3000);
    assert.equal(String(found?.cas), String((await collection.get('other-1')).cas));
    const [bare] = await collection.scan(new PrefixScan('other-'), { idsOnly: true });
    assert.deepEqual([bare?.id, bare?.content], ['other-1', undefined]);
    await collection.remove('other-1');
  });

  test('a sample has the requested number of documents, and the same ones for the same seed', async () => {
    const sample = async (seed: number) => idsOf(await collection.scan(new SamplingScan(10, seed)));
    assert.equal((await sample(42)).length, 10);
    assert.deepEqual(await sample(7), await sample(7));
    assert.equal((await collection.scan(new SamplingScan(1000))).length, names.length);
  });

  test('small batches, concurrency and consistency requirements give the same documents', async () => {
    for (const options of [
      { batchItemLimit: 1 },
      { batchByteLimit: 1 },
      { concurrency: 64 },
      { consistentWith },
    ]) {
      const found = await collection.scan(new PrefixScan('scan-'), options);
      assert.deepEqual(idsOf(found), names, JSON.stringify(Object.keys(options)));
    }
  });

  test('a scan returns only documents of its collection', async () => {
    await sdk.cluster.bucket('b').collections().createCollection('side', '_default');
    const side = sdk.cluster.bucket('b').collection('side');
    await side.upsert('scan-side', {});
    assert.deepEqual(idsOf(await side.scan(new PrefixScan('scan-'))), ['scan-side']);
    assert.deepEqual(idsOf(await collection.scan(new PrefixScan('scan-'))), names);
  });

  test('a scan of an ephemeral bucket returns its documents', async () => {
    const light = await sdk.withBucket('light', { type: BucketType.Ephemeral });
    await Promise.all(names.map((name) => light.upsert(name, { name })));
    assert.deepEqual(idsOf(await light.scan(new PrefixScan('scan-'))), names);
    assert.equal((await light.scan(new SamplingScan(5))).length, 5);
    await sdk.cluster.buckets().dropBucket('light');
  });
});
