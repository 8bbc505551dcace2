import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  emptyFrame,
  type Frame,
  FrameResult,
  frameBytesMax,
  headerBytes,
  Magic,
  readFrame,
} from './frame.ts';
import { FrameReader } from './frame-reader.ts';
import { encodeRequest, Output } from './output.ts';

const requests = [
  encodeRequest({ opcode: 0x0a, opaque: 1 }),
  encodeRequest({
    opcode: 1,
    opaque: 2,
    vb: 1023,
    extras: Buffer.alloc(8, 5),
    key: Buffer.from('\0key'),
    value: Buffer.from('value'),
    casHi: 0xffffffff,
    casLo: 7,
    datatype: 1,
  }),
  encodeRequest({
    opcode: 1,
    opaque: 3,
    framing: Buffer.from([0x11, 2]),
    extras: Buffer.alloc(8),
    key: Buffer.from('\0k'),
    value: Buffer.alloc(300, 65),
  }),
  encodeRequest({ opcode: 0, opaque: 0xffffffff, key: Buffer.from('\0z') }),
];
const stream = Buffer.concat(requests);

const describe = (frame: Frame) => ({
  magic: frame.magic,
  opcode: frame.opcode,
  opaque: frame.opaque,
  vb: frame.vb,
  datatype: frame.datatype,
  cas: [frame.casHi, frame.casLo],
  framing: frame.buffer.toString('latin1', frame.framingStart, frame.extrasStart),
  extras: frame.buffer.toString('latin1', frame.extrasStart, frame.keyStart),
  key: frame.buffer.toString('latin1', frame.keyStart, frame.valueStart),
  value: frame.buffer.toString('latin1', frame.valueStart, frame.end),
});

/** Feeds the chunks to a reader through one buffer that each chunk overwrites, as a socket does. */
function readAll(chunks: Buffer[], bytesMax = frameBytesMax) {
  const reader = new FrameReader(bytesMax);
  const shared = Buffer.alloc(Math.max(1, ...chunks.map((chunk) => chunk.length)));
  const frame = emptyFrame();
  const frames: ReturnType<typeof describe>[] = [];
  let result: FrameResult = FrameResult.needMore;
  for (const chunk of chunks) {
    shared.fill(0xee);
    chunk.copy(shared);
    reader.feed(shared, 0, chunk.length);
    while ((result = reader.next(frame)) === FrameResult.whole) frames.push(describe(frame));
    if (result < 0) return { frames, result, unread: reader.unreadBytes };
    reader.copyUnread();
  }
  return { frames, result, unread: reader.unreadBytes };
}

const expected = readAll([stream]).frames;

test('every part of a frame is read', () => {
  assert.equal(expected.length, 4);
  assert.deepEqual(expected[1], {
    magic: Magic.request,
    opcode: 1,
    opaque: 2,
    vb: 1023,
    datatype: 1,
    cas: [0xffffffff, 7],
    framing: '',
    extras: '\x05'.repeat(8),
    key: '\0key',
    value: 'value',
  });
  assert.equal(expected[2]?.framing, '\x11\x02');
  assert.equal(expected[2]?.key, '\0k');
  assert.equal(expected[3]?.opaque, 0xffffffff);
});

test('frames that arrive byte by byte are read the same', () => {
  const bytes = [...stream].map((byte) => Buffer.from([byte]));
  assert.deepEqual(readAll(bytes), { frames: expected, result: FrameResult.needMore, unread: 0 });
});

test('frames are read the same at every split in two and in three', () => {
  for (let at = 0; at <= stream.length; at++) {
    assert.deepEqual(readAll([stream.subarray(0, at), stream.subarray(at)]).frames, expected);
    const middle = Math.floor((at + stream.length) / 2);
    const three = [stream.subarray(0, at), stream.subarray(at, middle), stream.subarray(middle)];
    assert.deepEqual(readAll(three).frames, expected);
  }
});

test('the reader waits for the rest of every truncated frame', () => {
  for (let at = 0; at < stream.length; at++) {
    const { frames, result, unread } = readAll([stream.subarray(0, at)]);
    assert.deepEqual(frames, expected.slice(0, frames.length));
    assert.equal(result, FrameResult.needMore);
    const totalBytes = requests.slice(0, frames.length).reduce((sum, request) => sum + request.length, 0);
    assert.equal(unread, at - totalBytes);
  }
});

test('random bytes give the same frames whole and in two parts, with any bytes after them in the buffer', () => {
  let seed = 12345;
  const random = () => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) / 2 ** 32;
  for (let round = 0; round < 3000; round++) {
    const bytes = Buffer.from(
      Array.from({ length: Math.floor(random() * 80) }, () => Math.floor(random() * 256)),
    );
    // Most headers are plausible: a request with a short key, and with a short body.
    if (bytes.length > 12 && random() < 0.8) bytes.set([Magic.request, 1, 0, Math.floor(random() * 9)], 0);
    if (bytes.length > 12 && random() < 0.8) bytes.set([0, 0, 0, Math.floor(random() * 50)], 8);
    const split = Math.floor(random() * bytes.length);
    const unsplit = readAll([bytes]);
    const halves = readAll([bytes.subarray(0, split), bytes.subarray(split)]);
    assert.deepEqual(halves.frames, unsplit.frames);
    assert.equal(halves.result, unsplit.result);
  }
});

test('a frame above the limit is refused once its header has arrived', () => {
  const header = encodeRequest({ opcode: 1, opaque: 9 });
  header.writeUInt32BE(frameBytesMax - headerBytes + 1, 8);
  const { result } = readAll([header]);
  assert.equal(result, FrameResult.tooLarge);
  header.writeUInt32BE(frameBytesMax - headerBytes, 8);
  assert.equal(readAll([header]).result, FrameResult.needMore);
});

test('frames with inconsistent lengths or an unknown magic byte are refused, and their headers are decoded', () => {
  const frame = emptyFrame();
  const malformed = encodeRequest({ opcode: 4, opaque: 77 });
  malformed.writeUInt16BE(5, 2);
  assert.equal(readFrame(malformed, 0, malformed.length, frame, frameBytesMax), FrameResult.malformed);
  assert.deepEqual([frame.opcode, frame.opaque], [4, 77]);
  const text = Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  assert.equal(readFrame(text, 0, text.length, frame, frameBytesMax), FrameResult.malformed);
  assert.equal(frame.magic, text[0]);
});

test('a frame that the caller puts back with `unread` is returned again', () => {
  const reader = new FrameReader(frameBytesMax);
  const frame = emptyFrame();
  const seen: number[] = [];
  for (const chunk of [stream.subarray(0, 30), stream.subarray(30)]) {
    reader.feed(chunk, 0, chunk.length);
    while (reader.next(frame) === FrameResult.whole) {
      seen.push(frame.opaque);
      if (seen.length % 2 === 1) reader.unread(frame);
    }
    reader.copyUnread();
  }
  assert.deepEqual(seen, [1, 1, 2, 2, 3, 3, 0xffffffff, 0xffffffff]);
});

test('memory is allocated for received bytes, not for bytes that a header claims', () => {
  const reader = new FrameReader(frameBytesMax);
  const claim = encodeRequest({ opcode: 1 });
  claim.writeUInt32BE(20_000_000, 8);
  reader.feed(claim, 0, claim.length);
  assert.equal(reader.next(emptyFrame()), FrameResult.needMore);
  reader.copyUnread();
  assert.equal(reader.unreadBytes, headerBytes);
});

test('replies are read as they were encoded, with and without the server duration in their framing extras', () => {
  const output = new Output(32);
  for (const duration of [-1, 513]) {
    output.clear(false);
    const at = output.reply(5, 0xfedcba98, 0x88, duration, 4, 2, 3, 1, 0x89abcdef, 1);
    output.buffer.write('EXTRkyval', at, 'latin1');
    const frame = emptyFrame();
    assert.equal(readFrame(output.buffer, 0, output.end, frame, frameBytesMax), FrameResult.whole);
    assert.deepEqual(describe(frame), {
      magic: duration < 0 ? Magic.response : Magic.altResponse,
      opcode: 5,
      opaque: 0xfedcba98,
      vb: 0x88,
      datatype: 1,
      cas: [0x89abcdef, 1],
      framing: duration < 0 ? '' : '\x02\x02\x01',
      extras: 'EXTR',
      key: 'ky',
      value: 'val',
    });
  }
});

test('the garbage collector counts the memory of a large frame as its bytes arrive', () => {
  const reader = new FrameReader(frameBytesMax);
  const bytes = 20_000_000;
  const value = Buffer.alloc(bytes);
  const request = encodeRequest({ opcode: 1, extras: Buffer.alloc(8), value });
  const before = process.memoryUsage().external;
  const countedAfter = (end: number, start: number) => {
    reader.feed(request, start, end);
    reader.next(emptyFrame());
    reader.expect(request.length);
    reader.copyUnread();
    return process.memoryUsage().external - before;
  };
  assert.ok(countedAfter(1_000, 0) < bytes * 0.2, 'memory was allocated for bytes that a header only claims');
  const half = countedAfter(bytes / 2, 1_000);
  assert.ok(half > bytes * 0.35 && half < bytes * 0.65, `${half} bytes for half of the frame`);
  assert.ok(countedAfter(request.length, bytes / 2) > bytes * 0.85);
  // A collection of the value meanwhile would change the numbers.
  assert.equal(value.length, bytes);
});

test('a reader reuses its buffers for frames that arrive in pieces', () => {
  const reader = new FrameReader(frameBytesMax);
  const request = encodeRequest({ opcode: 1, extras: Buffer.alloc(8), value: Buffer.alloc(60_000, 7) });
  const chunkBytes = 200_000;
  const count = 20 * Math.ceil(chunkBytes / request.length);
  const stream = Buffer.concat(Array.from({ length: count }, () => request));
  const frame = emptyFrame();
  const buffers = new Set<Buffer>();
  let frames = 0;
  const readNext = (): boolean => {
    if (reader.next(frame) !== FrameResult.whole) return false;
    assert.ok(frame.buffer.subarray(frame.start, frame.end).equals(request));
    if (frame.buffer !== stream) buffers.add(frame.buffer);
    frames++;
    return true;
  };
  for (let at = 0; at < stream.length; at += chunkBytes) {
    reader.feed(stream, at, Math.min(at + chunkBytes, stream.length));
    readNext();
    reader.copyUnread();
    while (readNext());
    reader.copyUnread();
  }
  assert.equal(frames, count);
  assert.ok(buffers.size <= 6, `${buffers.size} buffers for ${count} frames`);
});
