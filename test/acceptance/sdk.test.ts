// The official SDK, unmodified, with a real node over real sockets: basic operations. Larger features have their
// own files.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  AuthenticationFailureError,
  BucketNotFoundError,
  type BucketSettings,
  BucketType,
  CasMismatchError,
  type Cluster,
  type Collection,
  DocumentExistsError,
  DocumentNotFoundError,
  DocumentNotLockedError,
  LookupInSpec,
  MutateInSpec,
  PathExistsError,
  PathMismatchError,
  PathNotFoundError,
  StoreSemantics,
  TimeoutError,
  ValueTooLargeError,
} from 'couchbase';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const bucketSettings = {
  bucketType: BucketType.Couchbase,
  ramQuotaMB: 100,
  numReplicas: 0,
  flushEnabled: true,
} as const;

describe('the official SDK', () => {
  let node: NodeProcess;
  let cluster: Cluster;
  let collection: Collection;

  before(async () => {
    node = await NodeProcess.start();
    cluster = await connect(`couchbase://${node.ready.node.kv}`, administrator);
    await cluster.buckets().createBucket({ name: 'travel', ...bucketSettings });
    const bucket = cluster.bucket('travel');
    await bucket.collections().createScope('inventory');
    await bucket.collections().createCollection('airline', 'inventory');
    collection = bucket.scope('inventory').collection('airline');
    await eventually(() => collection.upsert('warm', {}));
  });

  after(async () => {
    await cluster?.close();
    await node?.[Symbol.asyncDispose]();
  });

  test('lists the scopes and collections that it created', async () => {
    const scopes = await cluster.bucket('travel').collections().getAllScopes();
    const inventory = scopes.find(({ name }) => name === 'inventory');
    assert.deepEqual(
      inventory?.collections.map(({ name }) => name),
      ['airline'],
    );
  });

  test('stores, reads, replaces and removes documents', async () => {
    const { cas } = await collection.insert('airline_10', { name: '40-Mile Air', country: 'US' });
    const read = await collection.get('airline_10');
    assert.deepEqual(read.content, { name: '40-Mile Air', country: 'US' });
    assert.equal(String(read.cas), String(cas));
    const replaced = await collection.replace('airline_10', { name: 'Air' }, { cas });
    await assert.rejects(collection.replace('airline_10', {}, { cas }), CasMismatchError);
    await collection.remove('airline_10', { cas: replaced.cas });
    await assert.rejects(collection.get('airline_10'), DocumentNotFoundError);
    assert.equal((await collection.exists('airline_10')).exists, false);
  });

  test('keeps documents of the default collection apart', async () => {
    const other = cluster.bucket('travel').defaultCollection();
    await other.upsert('same', { from: 'default' });
    await collection.upsert('same', { from: 'airline' });
    assert.deepEqual((await other.get('same')).content, { from: 'default' });
    assert.deepEqual((await collection.get('same')).content, { from: 'airline' });
  });

  test('refuses to insert twice and to change what is missing', async () => {
    await collection.upsert('twice', {});
    await assert.rejects(collection.insert('twice', {}), DocumentExistsError);
    await assert.rejects(collection.replace('missing', {}), DocumentNotFoundError);
    await assert.rejects(collection.remove('missing'), DocumentNotFoundError);
    await assert.rejects(collection.touch('missing', 10), DocumentNotFoundError);
    await assert.rejects(collection.binary().append('missing', 'x'), DocumentNotFoundError);
  });

  test('refuses a value above 20 MiB', async () => {
    const large = { text: 'x'.repeat(21 * 1024 * 1024) };
    await assert.rejects(collection.upsert('large', large, { timeout: 60_000 }), ValueTooLargeError);
    const fits = { text: 'x'.repeat(19 * 1024 * 1024) };
    await collection.upsert('large', fits, { timeout: 60_000 });
    assert.equal((await collection.get('large', { timeout: 60_000 })).content.text.length, fits.text.length);
    await collection.remove('large');
  });

  test('counts, appends and prepends', async () => {
    const binary = collection.binary();
    assert.equal((await binary.increment('hits', 5, { initial: 10 })).value, 10);
    assert.equal((await binary.increment('hits', 5)).value, 15);
    assert.equal((await binary.decrement('hits', 20)).value, 0);
    await collection.upsert('text', Buffer.from('b'));
    await binary.append('text', 'c');
    await binary.prepend('text', 'a');
    assert.equal((await collection.get('text')).content.toString(), 'abc');
  });

  test('locks, and lets only the holder write and unlock', async () => {
    await collection.upsert('locked', { v: 1 });
    const { cas } = await collection.getAndLock('locked', 30);
    await assert.rejects(collection.upsert('locked', { v: 2 }, { timeout: 400 }), TimeoutError);
    await collection.unlock('locked', cas);
    await assert.rejects(collection.unlock('locked', cas), DocumentNotLockedError);
    const again = await collection.getAndLock('locked', 30);
    await collection.replace('locked', { v: 3 }, { cas: again.cas });
    await collection.upsert('locked', { v: 4 });
  });

  test('expires documents and keeps or changes their expiry', async () => {
    await collection.upsert('brief', { v: 1 }, { expiry: 1 });
    await eventually(async () => assert.equal((await collection.exists('brief')).exists, false));
    await collection.upsert('kept', { v: 1 }, { expiry: 3600 });
    await collection.upsert('kept', { v: 2 }, { preserveExpiry: true });
    const withExpiry = await collection.get('kept', { withExpiry: true });
    assert.ok((withExpiry.expiryTime as number) > Date.now() / 1000 + 3000);
    await collection.getAndTouch('kept', 7200);
    const touched = await collection.get('kept', { withExpiry: true });
    assert.ok((touched.expiryTime as number) > Date.now() / 1000 + 7000);
  });

  test('looks up and mutates parts of documents', async () => {
    await collection.upsert('parts', { a: { b: [1, 2, 3] }, n: 1 });
    const mutated = await collection.mutateIn('parts', [
      MutateInSpec.upsert('a.c', 'new'),
      MutateInSpec.arrayAppend('a.b', 4),
      MutateInSpec.increment('n', 41),
      MutateInSpec.upsert('meta.owner', 'me', { xattr: true, createPath: true }),
    ]);
    assert.equal(mutated.content[2]?.value, 42);
    const found = await collection.lookupIn('parts', [
      LookupInSpec.get('a'),
      LookupInSpec.exists('zzz'),
      LookupInSpec.count('a.b'),
      LookupInSpec.get('meta.owner', { xattr: true }),
      LookupInSpec.get('$document.CAS', { xattr: true }),
    ]);
    assert.deepEqual(found.content[0]?.value, { b: [1, 2, 3, 4], c: 'new' });
    assert.equal(found.content[1]?.value, false);
    assert.equal(found.content[2]?.value, 4);
    assert.equal(found.content[3]?.value, 'me');
    assert.match(found.content[4]?.value, /^0x[0-9a-f]{16}$/);
    const projected = await collection.get('parts', { project: ['a.c'] });
    assert.deepEqual(projected.content, { a: { c: 'new' } });
  });

  test('reports failed sub-document mutations, which change nothing', async () => {
    await collection.upsert('strict', { a: 1 });
    await assert.rejects(collection.mutateIn('strict', [MutateInSpec.insert('a', 2)]), PathExistsError);
    await assert.rejects(collection.mutateIn('strict', [MutateInSpec.replace('b', 2)]), PathNotFoundError);
    await assert.rejects(collection.mutateIn('strict', [MutateInSpec.upsert('a.b', 2)]), PathMismatchError);
    assert.deepEqual((await collection.get('strict')).content, { a: 1 });
    await collection.mutateIn('made', [MutateInSpec.upsert('a', 1)], {
      storeSemantics: StoreSemantics.Upsert,
    });
    assert.deepEqual((await collection.get('made')).content, { a: 1 });
  });

  test('flushes, edits and drops buckets through the manager', async () => {
    const buckets = cluster.buckets();
    await buckets.createBucket({ name: 'brief', ...bucketSettings });
    const shortLived = cluster.bucket('brief').defaultCollection();
    await eventually(() => shortLived.upsert('a', {}));
    await buckets.flushBucket('brief');
    await eventually(async () => assert.equal((await shortLived.exists('a')).exists, false));
    const settings = (await buckets.getBucket('brief')) as BucketSettings;
    settings.ramQuotaMB = 128;
    await buckets.updateBucket(settings);
    assert.equal((await buckets.getBucket('brief')).ramQuotaMB, 128);
    await buckets.dropBucket('brief');
    await assert.rejects(buckets.getBucket('brief'), BucketNotFoundError);
  });

  test('refuses a wrong password and an unknown user', async () => {
    const url = `couchbase://${node.ready.node.kv}`;
    for (const username of [administrator.username, 'nobody']) {
      await assert.rejects(connect(url, { username, password: 'wrong' }), AuthenticationFailureError);
    }
  });

  test('lets a user with a reading role read and not write', async () => {
    await cluster.users().upsertUser({
      username: 'reader',
      password: 'reader-password',
      roles: [{ name: 'data_reader', bucket: 'travel', scope: undefined, collection: undefined }],
    });
    await collection.upsert('shared', { v: 1 });
    const url = `couchbase://${node.ready.node.kv}`;
    const reading = await eventually(() => connect(url, { username: 'reader', password: 'reader-password' }));
    try {
      const seen = reading.bucket('travel').scope('inventory').collection('airline');
      assert.deepEqual((await seen.get('shared')).content, { v: 1 });
      await assert.rejects(seen.upsert('shared', { v: 2 }), AuthenticationFailureError);
      assert.deepEqual((await collection.get('shared')).content, { v: 1 });
    } finally {
      await reading.close();
    }
  });

  test('connects over TLS with the cluster’s certificate, and not without it', async () => {
    const answer = await fetch(`${node.ready.node.rest}/pools/default/certificate`);
    const trustStorePath = join(node.dataDir, 'ca-for-sdk.pem');
    writeFileSync(trustStorePath, await answer.text());
    const url = `couchbases://${node.ready.node.kvTls}`;
    const secure = await connect(url, { ...administrator, security: { trustStorePath } });
    try {
      const secured = secure.bucket('travel').defaultCollection();
      await secured.upsert('over-tls', { safe: true });
      assert.deepEqual((await secured.get('over-tls')).content, { safe: true });
      assert.ok((await secure.buckets().getAllBuckets()).length > 0);
    } finally {
      await secure.close();
    }
    await assert.rejects(connect(url, { ...administrator, timeouts: { bootstrapTimeout: 1500 } }));
  });
});
