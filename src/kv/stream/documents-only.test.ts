// Streams of documents only, page by page, while other streams of the vbucket make newer lists of its documents.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { BucketUnderTest } from '../../../test/support/a-bucket.ts';
import { streamOptions } from '../../../test/support/stream-options.ts';
import type { BucketParts } from '../bucket/bucket-parts.ts';
import { KeyWalk } from '../bucket/keys/key-walk.ts';
import { CutBits, type CutItem } from '../data/cut.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';
import type { Address, MessageWriter } from './message-writer.ts';
import { Stream, type StreamHost } from './stream.ts';

const vb = 0;
const files = { folder: '/bucket', bucketUuid: 'b1', incarnation: 1, fileCount: 4 };
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function aBucket() {
  const engine = new MemoryDisk().engine();
  const disk = { reads: 0 };
  const backfill = engine.backfill.bind(engine);
  engine.backfill = (...request) => {
    disk.reads++;
    return backfill(...request);
  };
  const b = await new BucketUnderTest({
    storage: { disk: engine, files },
    evictionPolicy: 'fullEviction',
  }).start();
  return { b, disk };
}

async function persist(b: BucketUnderTest): Promise<void> {
  while (b.bucket.stats().dirtyItems > 0) {
    b.tick(25);
    await turn();
  }
}

function evict({ bucket }: BucketUnderTest, seqno: number): void {
  const { vbuckets, residency } = (bucket as unknown as { parts: BucketParts }).parts;
  let evicted = 0;
  const walk = new KeyWalk(vbuckets.index, vb, (address) => {
    if (vbuckets.items.seqno(address) === seqno) evicted = address;
  });
  while (!walk.slice(1_000));
  assert.ok(residency.isEvictable(evicted));
  residency.dropItem(evicted);
}

/** A stream from seqno 0 with small pages, and the keys that its client has. */
function streamOf({ bucket, clock }: BucketUnderTest) {
  const keys = new Set<string>();
  const writer: Partial<MessageWriter> = {
    marker: () => {},
    item: (_: Address, item: CutItem) => {
      const key = item.buffer.toString('latin1', item.keyStart + 1, item.keyEnd);
      if ((item.bits & CutBits.deleted) !== 0) keys.delete(key);
      else keys.add(key);
    },
  };
  const host: Partial<StreamHost> = {
    writer: writer as MessageWriter,
    markerVersion: 1,
    reportsSeqnos: false,
    sent: () => true,
    ready: () => {},
    takePageBytes: () => 1_024,
    pages: { hold: (taken) => taken, count: () => {} },
    backfillDone: () => {},
    nowMs: () => clock.monotonicMs(),
  };
  const stream = new Stream(
    host as StreamHost,
    streamOptions(vb, { source: bucket.changes, documentsOnly: true }),
  );
  stream.start();
  const read = async (until: number): Promise<void> => {
    for (let turns = 0; stream.position < until; turns++) {
      assert.ok(turns < 10_000, `at ${stream.position}`);
      if (!stream.step()) await turn();
    }
  };
  return { keys, read, stream };
}

test('a stream gets the deletion of a document that it has, even if another stream lists the documents after that', async () => {
  const { b, disk } = await aBucket();
  for (let at = 0; at < 200; at++) assert.equal(b.store(`k${at}`), Status.success);
  await persist(b);
  const first = streamOf(b);
  await first.read(1);
  assert.ok(first.keys.has('k0') && first.stream.position < 100);
  assert.equal(b.remove('k0'), Status.success);
  await persist(b);
  evict(b, 201);
  const second = streamOf(b);
  await second.read(1);
  assert.equal(disk.reads, 0, 'a stream did not begin in memory');
  await first.read(201);
  await second.read(201);
  assert.deepEqual([first.keys.has('k0'), first.keys.size], [false, 199]);
  assert.deepEqual([second.keys.has('k0'), second.keys.size], [false, 199]);
});

test('streams that begin at one seqno read all pages from memory', async () => {
  const { b, disk } = await aBucket();
  for (let at = 0; at < 200; at++) b.store(`k${at}`);
  await persist(b);
  const streams = [streamOf(b), streamOf(b)];
  for (const { read } of streams) await read(100);
  for (const { read } of streams) await read(190);
  assert.equal(disk.reads, 0);
});
