// Copies and starts of a node whose manifest is older than the history.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { BucketUnderTest, keyOf } from '../../../test/support/a-bucket.ts';
import { streamOptions } from '../../../test/support/stream-options.ts';
import type { Manifest, ShardSpec } from '../admin.ts';
import type { BucketOptions } from '../bucket/bucket-parts.ts';
import { Collections } from '../collections/collections.ts';
import { type CutItem, CutReader } from '../data/cut.ts';
import { backfillPageBytes } from '../data/disk-engine.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';
import type { Filter } from './filter.ts';
import type { Address, MessageWriter } from './message-writer.ts';
import { Stream, type StreamHost } from './stream.ts';

const vb = 0;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const files = { folder: '/n', bucketUuid: 'n', incarnation: 1, fileCount: 4 };

/** Lets the background work of a second run. */
async function inBackground(b: BucketUnderTest): Promise<void> {
  for (let i = 0; i < 20; i++) {
    b.tick(50);
    await turn();
  }
}

/** A manifest whose scope has these collections. */
const manifestOf = (uid: string, ...ids: string[]): Manifest => ({
  uid,
  scopes: [
    { name: '_default', uid: '0', collections: [{ name: '_default', uid: '0' }] },
    { name: 'shop', uid: '8', collections: ids.map((id) => ({ name: `c${id}`, uid: id })) },
  ],
});

const shardsIn = (state: 'active' | 'replica', epoch: number): ShardSpec[] =>
  Array.from({ length: 64 }, () => ({ state, epoch, replicas: [] }));

/** Copies to `copy` what the active has after a seqno. */
async function copyChanges(active: BucketUnderTest, copy: BucketUnderTest, after = 0): Promise<void> {
  const { batch, endSeqno } = await active.bucket.changes.backfill(vb, after);
  const { applier } = copy.bucket;
  assert.equal(applier.begin(vb, { start: after + 1, end: endSeqno }), Status.success);
  const reader = new CutReader(batch);
  reader.nextCut();
  while (reader.nextItem()) await copy.untilApplied(() => applier.apply(vb, reader.item));
  assert.equal(applier.advance(vb, endSeqno), Status.success);
}

/** A copy of a vbucket with a document in each of the collections 0, 8 and 9, whose own manifest lacks 9. */
async function aCopyAndActive(options: Partial<Pick<BucketOptions, 'storage' | 'evictionPolicy'>> = {}) {
  const active = await new BucketUnderTest({ manifest: manifestOf('3', '8', '9') }).start();
  for (const key of ['0:k', '8:k', '9:k']) assert.equal(active.store(key), Status.success);
  const shards = shardsIn('replica', 1);
  const copy = await new BucketUnderTest({ manifest: manifestOf('2', '8'), shards, ...options }).start();
  await copyChanges(active, copy);
  return { active, copy };
}

const aCopy = async (): Promise<BucketUnderTest> => (await aCopyAndActive()).copy;

/** The collections whose documents a client gets that streams the copy from its beginning. */
async function streamed({ bucket }: BucketUnderTest, manifest: Manifest, filter: Filter): Promise<number[]> {
  const ids: number[] = [];
  const writer: Partial<MessageWriter> = {
    marker: () => {},
    event: () => {},
    seqnoAdvanced: () => {},
    item: (_: Address, { buffer, keyStart }: CutItem) => void ids.push(buffer[keyStart] as number),
  };
  const host: Partial<StreamHost> = {
    writer: writer as MessageWriter,
    collections: new Collections(manifest),
    markerVersion: 1,
    reportsSeqnos: false,
    sent: () => true,
    ready: () => {},
    takePageBytes: () => backfillPageBytes,
    pages: { hold: (taken) => taken, count: () => {} },
    backfillDone: () => {},
    ended: () => {},
    nowMs: () => 0,
  };
  const stream = new Stream(host as StreamHost, streamOptions(vb, { source: bucket.changes, filter }));
  stream.start();
  while (stream.position < bucket.documents.highSeqno(vb)) {
    stream.step();
    await turn();
  }
  stream.close();
  return ids;
}

test('a stream of a copy has the documents of collections that the manifest of its node lacks yet', async () => {
  const copy = await aCopy();
  const manifest = manifestOf('2', '8');
  assert.deepEqual(await streamed(copy, manifest, { kind: 'bucket' }), [0, 8, 9]);
  assert.deepEqual(await streamed(copy, manifest, { kind: 'scope', scope: 8 }), [8, 9]);
  assert.deepEqual(await streamed(copy, manifest, { kind: 'scope', scope: 0 }), [0]);
});

test('a stream does not have the documents of collections that the manifest lacks again', async () => {
  const copy = await aCopy();
  assert.deepEqual(await streamed(copy, manifestOf('4', '8'), { kind: 'bucket' }), [0, 8]);
});

test('a copy that becomes active before the manifest arrives drops nothing of the collections in its history', async () => {
  const copy = await aCopy();
  const before = copy.bucket.documents.highSeqno(vb);
  await copy.bucket.followShards(shardsIn('active', 2));
  await inBackground(copy);
  assert.equal(copy.store('9:k'), Status.unknownCollection);
  assert.equal(copy.bucket.documents.highSeqno(vb), before, 'the history has a drop or a tombstone');
  copy.bucket.applyManifest(manifestOf('3', '8', '9'));
  assert.equal(copy.find('9:k'), Status.success);
  assert.deepEqual(copy.bucket.stats().collectionItems, { 0: 1, 8: 1, 9: 1 });
  assert.equal(copy.bucket.documents.collectionSeqno(vb, 9), copy.view.seqno);
  copy.bucket.applyManifest(manifestOf('4', '8'));
  await inBackground(copy);
  assert.equal(copy.bucket.stats().items, 2);
});

for (const evictionPolicy of ['valueOnly', 'fullEviction'] as const) {
  test(`${evictionPolicy}: a start with an older manifest loses nothing`, async () => {
    const disk = new MemoryDisk();
    const started = (manifest: Manifest) =>
      new BucketUnderTest({ storage: { disk: disk.engine(), files }, evictionPolicy, manifest }).start();
    const first = await started(manifestOf('3', '8', '9'));
    for (const key of ['0:k', '8:k', '9:k']) assert.equal(first.store(key), Status.success);
    await first.bucket.stop();
    const second = await started(manifestOf('2', '8'));
    await inBackground(second);
    second.bucket.applyManifest(manifestOf('3', '8', '9'));
    assert.equal(await second.whenResident(() => second.find('9:k')), Status.success);
    assert.deepEqual(second.bucket.stats().collectionItems, { 0: 1, 8: 1, 9: 1 });
    await second.bucket.stop();
  });
}

test('a new version of an evicted document counts once in a collection that the manifest of the copy lacks yet', async () => {
  const storage = { disk: new MemoryDisk().engine(), files };
  const { active, copy } = await aCopyAndActive({ storage, evictionPolicy: 'fullEviction' });
  await inBackground(copy);
  assert.equal(copy.bucket.keys.evict(vb, keyOf('9:k')), Status.success);
  const before = active.bucket.documents.highSeqno(vb);
  assert.equal(active.store('9:k'), Status.success);
  await copyChanges(active, copy, before);
  await copy.bucket.followShards(shardsIn('active', 2));
  copy.bucket.applyManifest(manifestOf('3', '8', '9'));
  assert.deepEqual(copy.bucket.stats().collectionItems, { 0: 1, 8: 1, 9: 1 });
  await copy.bucket.stop();
});
