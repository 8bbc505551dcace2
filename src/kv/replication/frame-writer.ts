// Frames that wait to be sent on a connection, one after the other: those of one turn are one write.
import { assert } from '#base/assert.ts';
import { writeU32, writeU48 } from '#wire/bytes.ts';
import {
  BatchBit,
  batchHeadBytes,
  type CopyBatch,
  FrameForm,
  lengthBytes,
  type PeerMessage,
  type PositionReport,
  peerFrameBytesMax,
  reportedPositionBytes,
} from './frames.ts';

/** Memory is allocated in pieces of this size, so that few writes need an allocation. */
const pieceBytes = 64 * 1024;
const noBytes = Buffer.alloc(0);

export class FrameWriter {
  private buffer = noBytes;
  /** The offset of the first byte that `take` has not returned. */
  private start = 0;
  private end = 0;

  /** The size of the frames that `take` has not returned. */
  get bytes(): number {
    return this.end - this.start;
  }

  /** Returns the size of the frame. */
  add(message: PeerMessage, body: Uint8Array = noBytes): number {
    const before = this.bytes;
    if (message.kind === 'batch') this.batch(message, body);
    else if (message.kind === 'got') this.got(message);
    else {
      const text = Buffer.from(JSON.stringify(message));
      this.begin(FrameForm.text, text.length);
      this.append(text);
    }
    return this.bytes - before;
  }

  /** Whole frames of another form. Returns their size. */
  addEncoded(frames: Uint8Array): number {
    this.reserve(frames.length);
    this.append(frames);
    return frames.length;
  }

  /** The frames since the last call. */
  take(): Buffer {
    const taken = this.buffer.subarray(this.start, this.end);
    this.start = this.end;
    return taken;
  }

  private batch(message: CopyBatch, body: Uint8Array): void {
    const { bucket, end, epoch, failover = noBytes, isAwaited, live, shard, start, to, vb } = message;
    this.begin(FrameForm.batch, 1 + bucket.length + batchHeadBytes + failover.length + body.length);
    this.text(bucket);
    this.u16(shard);
    this.u48(epoch);
    this.u16(vb);
    this.u8((live ? BatchBit.live : 0) | (isAwaited ? BatchBit.awaited : 0));
    this.u48(start);
    this.u48(to);
    this.u48(end);
    this.u16(failover.length);
    this.append(failover);
    this.append(body);
  }

  private got({ bucket, bytes, rows }: PositionReport): void {
    this.begin(FrameForm.got, 1 + bucket.length + 4 + rows.length * reportedPositionBytes);
    this.text(bucket);
    this.end = writtenU32(this.buffer, this.end, bytes);
    for (const { epoch, following, persisted, received, shard, vb } of rows) {
      this.u16(shard);
      this.u48(epoch);
      this.u16(vb);
      this.u48(received);
      this.u48(persisted);
      this.u8(following ? 1 : 0);
    }
  }

  private begin(form: number, contentBytes: number): void {
    const length = 1 + contentBytes;
    assert(length <= peerFrameBytesMax, 'a message fits a frame');
    this.reserve(lengthBytes + length);
    this.end = writtenU32(this.buffer, this.end, length);
    this.u8(form);
  }

  /** Moves the waiting frames to other memory if the next one does not fit. */
  private reserve(bytes: number): void {
    if (this.end + bytes <= this.buffer.length) return;
    const { bytes: kept } = this;
    const next = Buffer.allocUnsafeSlow(Math.max(pieceBytes, 2 * kept + bytes));
    this.buffer.copy(next, 0, this.start, this.end);
    this.buffer = next;
    this.start = 0;
    this.end = kept;
  }

  private append(bytes: Uint8Array): void {
    if (bytes.length > 0) this.buffer.set(bytes, this.end);
    this.end += bytes.length;
  }

  private text(text: string): void {
    assert(text.length <= 0xff, 'the uuid of a bucket is short');
    this.u8(text.length);
    this.end += this.buffer.write(text, this.end, 'latin1');
  }

  private u8(value: number): void {
    this.buffer[this.end++] = value;
  }

  private u16(value: number): void {
    this.u8(value >>> 8);
    this.u8(value);
  }

  private u48(value: number): void {
    writeU48(this.buffer, this.end, value);
    this.end += 6;
  }
}

function writtenU32(buffer: Buffer, at: number, value: number): number {
  writeU32(buffer, at, value);
  return at + 4;
}

/** One frame. */
export function encodeFrame(message: PeerMessage, body?: Uint8Array): Buffer {
  const frames = new FrameWriter();
  frames.add(message, body);
  return frames.take();
}
