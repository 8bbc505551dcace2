import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { printedSeed } from '../../../test/support/seed.ts';
import { FrameDecoder } from './frame-decoder.ts';
import { FrameSplitter, type ReceiveFrame } from './frame-splitter.ts';
import { encodeFrame, FrameWriter } from './frame-writer.ts';
import {
  type CopyBatch,
  FrameForm,
  lengthBytes,
  type PeerMessage,
  type PositionReport,
  peerFrameBytesMax,
} from './frames.ts';
import { positionsIn, rowsOf } from './position-rows.ts';

const beat: PeerMessage = { kind: 'beat', sentMs: 12.5, wallMs: 1 };
const bucket = '0123456789abcdef0123456789abcdef';
const batch: CopyBatch = {
  kind: 'batch',
  bucket,
  shard: 63,
  epoch: 2 ** 40 + 1,
  vb: 1023,
  start: 2 ** 33,
  to: 2 ** 33 + 1,
  end: 2 ** 47,
  live: true,
  isAwaited: false,
  awaitsDisk: false,
  failover: undefined,
};
const got: PositionReport = {
  kind: 'got',
  bucket,
  bytes: 2 ** 31,
  rows: rowsOf([
    { shard: 1, epoch: 2 ** 34, vb: 65, received: 2 ** 35, persisted: 7, following: false },
    { shard: 2, epoch: 1, vb: 2, received: 0, persisted: 0, following: true },
  ]),
};
const body = Buffer.from('a cut');
const decoder = new FrameDecoder();
const decodeFrame = (frame: Buffer) => decoder.decode(frame);
const messages: readonly [PeerMessage, Buffer?][] = [
  [beat],
  [batch, body],
  [{ ...batch, live: false, awaitsDisk: true, failover: Buffer.alloc(48, 7) }, Buffer.alloc(200_000, 1)],
  [got],
  [{ ...got, rows: rowsOf([]) }],
  [{ kind: 'wanted', bucket, shard: 1, epoch: 2, vb: 65, request: 3, upTo: 4 }, Buffer.from('keys')],
];

/** Takes the frames out of the bytes, in pieces whose memory is then overwritten. */
function splitIn(bytes: Buffer, piece: number): Buffer[] {
  const splitter = new FrameSplitter();
  const found: Buffer[] = [];
  const receive: ReceiveFrame = (frames, start, end) => found.push(Buffer.from(frames.subarray(start, end)));
  for (let at = 0; at < bytes.length; at += piece) {
    const arrived = Buffer.from(bytes.subarray(at, at + piece));
    splitter.push(arrived, receive);
    arrived.fill(0xff);
  }
  return found;
}

describe('frames between nodes', () => {
  it('carry each message, and the changes of a batch', () => {
    for (const [message, changes = Buffer.alloc(0)] of messages) {
      const decoded = decodeFrame(encodeFrame(message, changes));
      assert.deepEqual(decoded.message, message);
      assert.deepEqual(decoded.body, changes);
    }
  });

  it('name their bucket, whether or not the frame before names the same one', () => {
    const others = ['fedcba9876543210fedcba9876543210', bucket, '', 'short', bucket];
    for (const name of others)
      for (const message of [
        { ...batch, bucket: name },
        { ...got, bucket: name },
      ])
        assert.deepEqual(decodeFrame(encodeFrame(message, body)).message, message);
  });

  it('are written one after the other, and taken in parts that later frames do not change', () => {
    const frames = new FrameWriter();
    const taken: Buffer[] = [];
    for (let round = 0; round < 50; round++) {
      for (const [message, changes] of messages)
        if (round % 10 === 0 || changes === body)
          assert.equal(frames.add(message, changes), encodeFrame(message, changes).length);
      if (round % 3 === 0) taken.push(frames.drain());
    }
    taken.push(frames.drain());
    assert.equal(frames.drain().length, 0);
    const found = splitIn(Buffer.concat(taken), Infinity);
    assert.equal(found.length, 5 * messages.length + 45);
    assert.deepEqual(decodeFrame(found[0] as Buffer).message, beat);
    assert.deepEqual(decodeFrame(found.at(-1) as Buffer), { message: batch, body });
  });

  it('are found however the bytes arrive', () => {
    const bytes = Buffer.concat([encodeFrame(batch, body), encodeFrame(beat), encodeFrame(got)]);
    for (let piece = 1; piece <= bytes.length; piece++)
      assert.deepEqual(
        splitIn(bytes, piece).map((frame) => decodeFrame(frame).message),
        [batch, beat, got],
      );
  });

  it('are written into memory whose earlier frames are all sent', (t) => {
    const allocated = t.mock.method(Buffer, 'allocUnsafeSlow');
    const frames = new FrameWriter();
    const unsent: { taken: Buffer; copy: Buffer }[] = [];
    for (let round = 0; round < 1_000; round++) {
      frames.add(batch, Buffer.alloc(1 + ((round * 7_919) % 20_000), round));
      const taken = frames.drain();
      unsent.push({ taken, copy: Buffer.from(taken) });
      // Some of them wait, as on a connection whose other end is busy for a moment.
      while (unsent.length > (round % 10 === 0 ? 0 : 3)) {
        const { copy, taken: first } = unsent.shift() as (typeof unsent)[number];
        assert.ok(first.equals(copy), `round ${round}`);
        frames.sent(first);
      }
    }
    assert.ok(allocated.mock.callCount() <= 3, `${allocated.mock.callCount()} allocations`);
  });

  it('are not written into the memory of a large frame once all of it is sent', (t) => {
    const frames = new FrameWriter();
    const sent = (bodyBytes: number): Buffer => {
      frames.add(batch, Buffer.alloc(bodyBytes));
      const taken = frames.drain();
      frames.sent(taken);
      return taken;
    };
    assert.ok(sent(20_000_000).buffer.byteLength >= 20_000_000);
    const allocated = t.mock.method(Buffer, 'allocUnsafeSlow');
    for (let round = 0; round < 1_000; round++) assert.ok(sent(1_000).buffer.byteLength < 1_000_000);
    assert.equal(allocated.mock.callCount(), 1);
  });

  it('are joined in the memory of earlier frames, or in new memory of their size, which is released if it is large', (t) => {
    const allocated = t.mock.method(Buffer, 'allocUnsafeSlow');
    const splitter = new FrameSplitter();
    const sizes = [40_000, 50_000, 40_000, 60_000, 20_000_000, 40_000, 500_000, 50_000, 20_000_000, 60_000];
    let found = 0;
    for (const [index, size] of sizes.entries()) {
      const sent = encodeFrame(batch, Buffer.alloc(size, index));
      // The first bytes one by one, then as a connection reads them.
      const pieces = [...bytesOf(sent.subarray(0, 10)), ...piecesOf(sent.subarray(10), 16 * 1024)];
      allocated.mock.resetCalls();
      for (const piece of pieces)
        splitter.push(piece, (bytes, start, end) => {
          assert.ok(bytes.subarray(start, end).equals(sent));
          found++;
        });
      const isFirst = index === 0 || sizes[index - 1] === 20_000_000;
      assert.equal(allocated.mock.callCount(), isFirst || size > 100_000 ? 1 : 0, `frame ${index}`);
    }
    assert.equal(found, sizes.length);
  });

  it('of too many bytes, of unknown forms and kinds, and with parts beyond their end are refused', () => {
    const large = Buffer.alloc(4);
    large.writeUInt32BE(peerFrameBytesMax + 1);
    assert.throws(() => splitIn(large, 4), /at most/);
    assert.throws(() => decodeFrame(Buffer.from([0, 0, 0, 1, 9])), /unknown form 9/);
    assert.throws(() => decodeFrame(Buffer.alloc(lengthBytes)), /unknown form/);
    for (const kind of ['toString', 'batch', 'got'])
      assert.throws(() => decodeFrame(textFrame(`{"kind":"${kind}"}`)), /unknown message/);
    assert.throws(() => decodeFrame(textFrame('null')));
    for (const message of [{ ...batch, failover: Buffer.alloc(48) }, got]) {
      const frame = encodeFrame(message);
      for (let length = lengthBytes; length < frame.length; length++) {
        // A report without its last rows is a valid report.
        if (message.kind === 'got' && (frame.length - length) % 23 === 0) continue;
        assert.throws(
          () => decodeFrame(frame.subarray(0, length)),
          Error,
          `${message.kind}: ${length} bytes`,
        );
      }
    }
  });

  it('with random or changed bytes are refused, or contain only whole numbers', (t) => {
    const valid = [
      encodeFrame({ ...batch, failover: Buffer.alloc(48, 7) }, body),
      encodeFrame(got),
      encodeFrame({ ...got, rows: rowsOf([]) }),
    ];
    const changedByte = fc.tuple(fc.nat(2_000), fc.nat(255));
    const changes = fc.array(changedByte, { minLength: 1, maxLength: 2 });
    const formBytes = lengthBytes + 1;
    let numberCount = 0;
    const read = (frame: Buffer): void => {
      const { message } = attempt(() => decodeFrame(frame)) ?? {};
      if (message === undefined || frame[lengthBytes] === FrameForm.text) return;
      const values = message.kind === 'got' ? positionsIn(message.rows).flatMap(Object.values) : [];
      for (const value of [...Object.values(message), ...values])
        if (typeof value === 'number') {
          numberCount++;
          assert.ok(Number.isSafeInteger(value) && value >= 0, `${value} in ${frame.toString('hex')}`);
        }
    };
    const random = fc.tuple(fc.constantFrom(1, 2, 3, 4), fc.uint8Array({ maxLength: 120 }));
    fc.assert(
      fc.property(random, fc.constantFrom(...valid), changes, ([form, bytes], whole, changed) => {
        read(Buffer.from([0, 0, 0, bytes.length + 1, form, ...bytes]));
        const frame = Buffer.from(whole);
        for (const [at, byte] of changed) frame[formBytes + (at % (frame.length - formBytes))] = byte;
        read(frame);
      }),
      { seed: printedSeed(t), numRuns: 2_000 },
    );
    assert.ok(numberCount > 1_000, `only ${numberCount} numbers were read`);
  });
});

const piecesOf = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );

const bytesOf = (bytes: Buffer): Buffer[] => [...bytes].map((byte) => Buffer.from([byte]));

function textFrame(text: string): Buffer {
  const frame = Buffer.concat([Buffer.alloc(lengthBytes), Buffer.from([1]), Buffer.from(text)]);
  frame.writeUInt32BE(frame.length - lengthBytes);
  return frame;
}

function attempt<T>(act: () => T): T | null {
  try {
    return act();
  } catch {
    return null;
  }
}
