// The batches of a copy as its node reads them, over the present form of frames and that of version 0.2.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { aPeer, RecordingLink } from '../../../test/support/peer-connections.ts';
import { printedSeed } from '../../../test/support/seed.ts';
import { type CutItem, CutReader, CutWriter, emptyCutItem } from '../data/cut.ts';
import { CopyBatches } from './copy-batches.ts';
import { earlierForm } from './earlier-frames.ts';
import { FrameDecoder } from './frame-decoder.ts';
import { encodeFrame, FrameWriter } from './frame-writer.ts';
import {
  type BatchBody,
  type CopyBatch,
  lengthBytes,
  type PeerMessage,
  peerFrameBytesMax,
} from './frames.ts';
import type { PeerConnections } from './peers.ts';

const shard = { bucket: '0123456789abcdef', shard: 3, epoch: 2 ** 40 + 1 };
const failover = Buffer.alloc(48, 7);
const hello = { kind: 'hello', node: 'b', boot: 'b 1' } as const;

function anItem(seqno: number, value: string | Buffer = `value ${seqno}`): CutItem {
  const key = `key ${seqno}`;
  const buffer = Buffer.concat([Buffer.from(key), Buffer.from(value)]);
  const ends = { keyEnd: key.length, valueStart: key.length, valueEnd: buffer.length };
  return { ...emptyCutItem(buffer), ...ends, seqno, casHi: 1, casLo: seqno, rev: 2 };
}

/** What a node received: the head of a batch, its changes and its size. */
interface Received {
  readonly head: CopyBatch;
  readonly changes: readonly string[];
  readonly bytes: number;
}

function changesIn(body: BatchBody): string[] {
  const reader = new CutReader(Buffer.alloc(0));
  if (body.items < 0) reader.read(body.bytes);
  else reader.readItems(body.bytes, body.start, body.end, body.items);
  const found: string[] = [];
  do
    while (reader.nextItem()) {
      const { buffer, keyStart, seqno, valueEnd } = reader.item;
      found.push(`${seqno}: ${buffer.toString('latin1', keyStart, valueEnd)}`);
    }
  while (reader.nextCut());
  return found;
}

const read = (message: PeerMessage, body: BatchBody, bytes: number): Received => {
  assert.equal(message.kind, 'batch');
  return { head: { ...(message as CopyBatch) }, changes: changesIn(body), bytes };
};

/** A node "a" that is connected to "b", and what "b" receives of it. */
async function connected(
  form: 'present' | 'earlier',
): Promise<{ peers: PeerConnections; received(): Promise<Received[]> }> {
  const [peers, link] = [aPeer({}), new RecordingLink()];
  peers.accept(link);
  link.handler?.data(earlierForm.encode({ ...hello, ...(form === 'present' && { readsBinary: true }) }));
  await Promise.resolve();
  link.sent.length = 0;
  const received = async (): Promise<Received[]> => {
    await Promise.resolve();
    const found: Received[] = [];
    const other = aPeer({ received: (_, message, body, bytes) => found.push(read(message, body, bytes)) });
    const from = new RecordingLink();
    other.accept(from);
    from.handler?.data(form === 'present' ? encodeFrame(hello) : earlierForm.encode(hello));
    for (const bytes of link.sent.splice(0)) from.handler?.data(bytes);
    assert.equal(from.closedFor, null);
    other.close();
    return found;
  };
  return { peers, received };
}

for (const form of ['present', 'earlier'] as const)
  it(`batches are written change by change and in pages, and confirmed by their sizes (${form} form)`, async () => {
    const { peers, received } = await connected(form);
    const batches = new CopyBatches({ node: 'b', shard, peers, cuts: new CutWriter() });
    const range = { start: 5, to: 8, end: 9, live: true, isAwaited: true, awaitsDisk: false };
    batches.begin(67, failover);
    for (const seqno of [6, 8]) batches.item(anItem(seqno));
    batches.end(range);
    batches.begin(3);
    batches.item(anItem(1));
    batches.abandon();
    batches.begin(3);
    batches.end({ ...range, live: false, awaitsDisk: form === 'present' });
    const page = new CutWriter();
    page.begin(0);
    page.item(anItem(7));
    page.finish({ ...new CutReader(Buffer.alloc(0)).state });
    let sent = 0;
    batches.page(131, range, { cuts: page.takeAll(), failover: undefined, sent: () => sent++ });
    const found = await received();
    assert.equal(sent, 1);
    const head = { kind: 'batch', ...shard, ...range, failover: undefined };
    assert.deepEqual(
      found.map(({ head, changes }) => [{ failover: undefined, ...head }, changes]),
      [
        [{ ...head, vb: 67, failover }, ['6: key 6value 6', '8: key 8value 8']],
        [{ ...head, vb: 3, live: false, awaitsDisk: form === 'present' }, []],
        [{ ...head, vb: 131 }, ['7: key 7value 7']],
      ],
    );
    // The bytes that the other node confirms must be those that were counted as sent.
    const bytes = found.reduce((sum, batch) => sum + batch.bytes, 0);
    const free = 16 * 1024 * 1024 - bytes;
    peers.batchWritten('b', free - 1);
    assert.equal(peers.mayFeed('b'), true);
    peers.batchWritten('b', 1);
    assert.equal(peers.mayFeed('b'), false);
    peers.close();
  });

const range = { start: 1, to: 2, end: 2, live: true, isAwaited: false, awaitsDisk: false };

/** The frames with batches of these items, in one piece. */
function framesOf(...batches: readonly (readonly CutItem[])[]): Buffer {
  const frames = new FrameWriter();
  const taken: Buffer[] = [];
  for (const [vb, items] of batches.entries()) {
    frames.beginBatch(shard, vb, vb === 0 ? failover : undefined);
    for (const item of items) frames.item(item);
    frames.endBatch(range);
    // Empties the writer from time to time, so that later batches do not begin at the start of its memory.
    if (vb % 100 === 10) taken.push(frames.drain());
  }
  return Buffer.concat([...taken, frames.drain()]);
}

function batchesIn(frames: Buffer): Received[] {
  const [decoder, found] = [new FrameDecoder(), [] as Received[]];
  for (let at = 0, end = 0; at < frames.length; at = end) {
    end = at + lengthBytes + frames.readUInt32BE(at);
    decoder.batches(frames, at, end, (batch, body, bytes) => found.push(read(batch, body, bytes)));
  }
  return found;
}

it('batches of one turn share frames, also if a frame grows or ends between two of them', () => {
  const large = anItem(1, Buffer.alloc(50_000, 'x'));
  const batches = Array.from({ length: 300 }, (_, vb) => (vb % 50 === 7 ? [large] : [anItem(1), anItem(2)]));
  const frames = framesOf(...batches);
  const found = batchesIn(frames);
  assert.deepEqual(
    found.map(({ head: { vb } }) => vb),
    batches.map((_, vb) => vb),
  );
  assert.deepEqual(found[8]?.changes, ['1: key 1value 1', '2: key 2value 2']);
  const heads = frames.length - found.reduce((sum, { bytes }) => sum + bytes, 0);
  assert.ok(heads < 20 * 30, 'the headers of all frames are small, so there are few frames');
});

it('batches of two buckets, and batches beside other messages, are in frames of their own', () => {
  const frames = new FrameWriter();
  for (const bucket of ['one', 'two', 'two', 'one']) {
    frames.beginBatch({ ...shard, bucket }, 1);
    frames.endBatch(range);
    if (bucket === 'two') frames.add({ kind: 'ended' });
  }
  const names: string[] = [];
  const bytes = frames.drain();
  for (let at = 0; at < bytes.length; at += lengthBytes + bytes.readUInt32BE(at))
    if (FrameDecoder.hasBatches(bytes, at))
      new FrameDecoder().batches(bytes, at, at + lengthBytes + bytes.readUInt32BE(at), ({ bucket }) =>
        names.push(bucket),
      );
  assert.deepEqual(names, ['one', 'two', 'two', 'one']);
});

it('truncated batches are refused, and a frame of too many bytes is not written', () => {
  const frame = framesOf([anItem(1), anItem(2)], [anItem(3)]);
  const ends = new Set<number>();
  new FrameDecoder().batches(frame, 0, frame.length, (_batch, body) => ends.add(body.end));
  for (let end = 24; end < frame.length; end++)
    if (!ends.has(end))
      assert.throws(() => new FrameDecoder().batches(frame, 0, end, () => {}), /batch/, `${end} bytes`);
  const frames = new FrameWriter();
  frames.beginBatch(shard, 0);
  frames.item(anItem(1, Buffer.alloc(peerFrameBytesMax)));
  assert.throws(() => frames.endBatch(range), /larger than a frame/);
});

it('batches of random bytes, and batches with changed bytes, are refused or stay within their frame', (t) => {
  const seed = printedSeed(t);
  const whole = framesOf([anItem(1), anItem(2)], [anItem(3)]);
  const changedByte = fc.tuple(fc.integer({ min: lengthBytes + 1, max: whole.length - 1 }), fc.nat(255));
  const changes = fc.array(changedByte, { minLength: 1, maxLength: 2 });
  let readCount = 0;
  const read = (frame: Buffer): void => {
    const outside: object[] = [];
    try {
      new FrameDecoder().batches(frame, 0, frame.length, (_batch, { start, end }) => {
        readCount++;
        if (!(start <= end && end <= frame.length)) outside.push({ start, end });
      });
    } catch (error) {
      assert.match((error as Error).message, /batch|header/);
    }
    assert.deepEqual(outside, [], frame.toString('hex'));
  };
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), changes, (bytes, changed) => {
      read(Buffer.from([0, 0, 0, bytes.length + 1, 4, ...bytes]));
      const frame = Buffer.from(whole);
      for (const [at, byte] of changed) frame[at] = byte;
      read(frame);
    }),
    { seed, numRuns: 2_000 },
  );
  assert.ok(readCount > 500, `only ${readCount} batches were read`);
});
