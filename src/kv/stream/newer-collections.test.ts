// Streams of a copy whose node has an older manifest than the active.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { BucketUnderTest } from '../../../test/support/a-bucket.ts';
import { streamOptions } from '../../../test/support/stream-options.ts';
import type { Manifest } from '../admin.ts';
import { Collections } from '../collections/collections.ts';
import { type CutItem, CutReader } from '../data/cut.ts';
import { backfillPageBytes } from '../data/disk-engine.ts';
import type { Filter } from './filter.ts';
import type { Address, MessageWriter } from './message-writer.ts';
import { Stream, type StreamHost } from './stream.ts';

const vb = 0;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A manifest whose scope has these collections. */
const manifestOf = (uid: string, ...ids: string[]): Manifest => ({
  uid,
  scopes: [
    { name: '_default', uid: '0', collections: [{ name: '_default', uid: '0' }] },
    { name: 'shop', uid: '8', collections: ids.map((id) => ({ name: `c${id}`, uid: id })) },
  ],
});

/** A copy of a vbucket with a document in each of the collections 0, 8 and 9, whose own manifest lacks 9. */
async function aCopy(): Promise<BucketUnderTest> {
  const active = await new BucketUnderTest({ manifest: manifestOf('3', '8', '9') }).start();
  for (const key of ['0:k', '8:k', '9:k']) assert.equal(active.store(key), Status.success);
  const shards = Array.from({ length: 64 }, () => ({ state: 'replica', epoch: 1, replicas: [] }) as const);
  const copy = await new BucketUnderTest({ manifest: manifestOf('2', '8'), shards }).start();
  const { batch, endSeqno } = await active.bucket.changes.backfill(vb, 0);
  const { applier } = copy.bucket;
  assert.equal(applier.begin(vb, { start: 1, end: endSeqno }), Status.success);
  const reader = new CutReader(batch);
  reader.nextCut();
  while (reader.nextItem()) assert.equal(applier.apply(vb, reader.item), Status.success);
  assert.equal(applier.advance(vb, endSeqno), Status.success);
  return copy;
}

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
