import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeFrame, encodeFrame, FrameSplitter, type PeerMessage, peerFrameBytesMax } from './frames.ts';

const beat: PeerMessage = { kind: 'beat', sentMs: 12.5, wallMs: 1 };
const body = Buffer.from('a cut');

describe('frames between nodes', () => {
  it('carry a message and a body', () => {
    const decoded = decodeFrame(encodeFrame(beat, body));
    assert.deepEqual(decoded.message, beat);
    assert.equal(decoded.body.toString(), 'a cut');
  });

  it('are found however the bytes arrive', () => {
    const bytes = Buffer.concat([encodeFrame(beat, body), encodeFrame(beat), encodeFrame(beat, body)]);
    for (let piece = 1; piece <= bytes.length; piece++) {
      const frames = new FrameSplitter();
      const found: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += piece)
        found.push(...frames.push(bytes.subarray(at, at + piece)));
      assert.deepEqual(
        found.map((frame) => decodeFrame(frame).body.toString()),
        ['a cut', '', 'a cut'],
      );
    }
  });

  it('of too many bytes, of unknown kinds and with headers beyond their end are refused', () => {
    const large = Buffer.alloc(4);
    large.writeUInt32BE(peerFrameBytesMax + 1);
    assert.throws(() => new FrameSplitter().push(large), /at most/);
    assert.throws(
      () => decodeFrame(encodeFrame({ kind: 'toString' } as unknown as PeerMessage)),
      /unknown message/,
    );
    const frame = encodeFrame(beat);
    frame.writeUInt16BE(0xffff, 4);
    assert.throws(() => decodeFrame(frame), /runs over its end/);
    assert.throws(() => decodeFrame(frame.subarray(0, 5)), /too short/);
  });
});
