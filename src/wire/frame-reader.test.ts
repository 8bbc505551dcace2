// Large frames among others, while the connection reads some of them only later.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aSeed } from '../../test/support/random.ts';
import { emptyFrame, FrameResult, frameBytesMax } from './frame.ts';
import { FrameReader } from './frame-reader.ts';
import { encodeRequest } from './output.ts';

const largeBytes = 2 * 1024 * 1024;
const chunkBytes = 64 * 1024;
const request = (opaque: number, bytes: number): Buffer =>
  encodeRequest({ opcode: 1, opaque, key: Buffer.from('k'), value: Buffer.alloc(bytes, opaque) });

test('bytes that arrive behind a large frame that waits do not make the reader copy that frame', () => {
  const frames = [request(1, largeBytes), request(2, 0), request(3, 100), request(4, largeBytes)];
  const bytes = Buffer.concat(frames);
  const reader = new FrameReader(frameBytesMax);
  const frame = emptyFrame();
  const firstEnd = (frames[0] as Buffer).length;
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const end = Math.min(at + chunkBytes, bytes.length);
    reader.feed(bytes, at, end);
    // The time of the turn is over when the first frame is whole.
    if (end < firstEnd && reader.next(frame) === FrameResult.needMore) reader.expect(frame.needed);
    reader.copyUnread();
    if (end >= firstEnd) break;
  }
  assert.equal(reader.next(frame), FrameResult.whole);
  assert.equal(frame.buffer.length, firstEnd);
  const memory = frame.buffer.buffer;
  // The frame waits once more.
  reader.unread(frame);
  reader.copyUnread();
  assert.equal(reader.next(frame), FrameResult.whole);
  assert.equal(reader.detach(frame).buffer, memory);
});

test('frames of all sizes are read in order, however they are split and whenever they wait', (t) => {
  const random = aSeed(t);
  for (let round = 0; round < 60; round++) {
    const frames = Array.from({ length: 12 }, (_, opaque) =>
      request(opaque, [0, random(200), random(5_000), random(300_000)][random(4)] as number),
    );
    const bytes = Buffer.concat(frames);
    const reader = new FrameReader(frameBytesMax);
    const frame = emptyFrame();
    const read: Buffer[] = [];
    const readSome = (): void => {
      for (;;) {
        const result = reader.next(frame);
        if (result !== FrameResult.whole) {
          if (frame.needed > chunkBytes) reader.expect(frame.needed);
          return;
        }
        if (random(4) === 0) {
          reader.unread(frame);
          return;
        }
        const isTaken = random(3) === 0;
        read.push(
          isTaken ? reader.detach(frame) : Buffer.from(frame.buffer.subarray(frame.start, frame.end)),
        );
      }
    };
    for (let at = 0; at < bytes.length; ) {
      const end = Math.min(at + 1 + random(random(2) === 0 ? 100 : 150_000), bytes.length);
      reader.feed(Buffer.from(bytes), at, end);
      if (random(3) > 0) readSome();
      reader.copyUnread();
      at = end;
    }
    while (read.length < frames.length) {
      readSome();
      reader.copyUnread();
    }
    assert.equal(reader.unreadBytes, 0);
    for (const [at, each] of frames.entries()) assert.ok(each.equals(read[at] as Buffer), `frame ${at}`);
  }
});
