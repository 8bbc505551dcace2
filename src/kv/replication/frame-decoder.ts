// Reads the frames of one connection.
import { readU32, readU48 } from '#wire/bytes.ts';
import {
  BatchBit,
  batchHeadBytes,
  type CopyBatch,
  FrameForm,
  lengthBytes,
  type PeerMessage,
  type PositionReport,
  type ReportedPosition,
  reportedPositionBytes,
} from './frames.ts';
import { decodeText } from './text-messages.ts';

export interface DecodedFrame {
  readonly message: PeerMessage;
  /** The changes of a batch. */
  readonly body: Buffer;
}

const noBody = Buffer.alloc(0);
const textAt = lengthBytes + 1;

export class FrameDecoder {
  /** The bucket of the last frame: nearly all frames name the same one, so that no string is made for each. */
  private bucket = '';

  /** Reads the frame from `start` to `end`. @throws Error when it is none. */
  decode(bytes: Buffer, start = 0, end = bytes.length): DecodedFrame {
    const form = bytes[start + lengthBytes];
    if (form === FrameForm.batch) return this.batch(bytes, start, end);
    if (form === FrameForm.got) return { message: this.got(bytes, start, end), body: noBody };
    if (form === FrameForm.text)
      return { message: decodeText(bytes.toString('utf8', start + textAt, end)), body: noBody };
    throw new Error(`unknown form ${form} of a frame`);
  }

  private batch(bytes: Buffer, start: number, end: number): DecodedFrame {
    const at = endOfBucket(bytes, start, end, batchHeadBytes);
    const historyAt = at + batchHeadBytes;
    const bodyAt = historyAt + readUint16(bytes, at + batchHeadBytes - 2);
    if (bodyAt > end) throw new Error('the failover log of a frame runs over its end');
    const bits = bytes[at + 10] as number;
    const head: CopyBatch = {
      kind: 'batch',
      bucket: this.bucketOf(bytes, start + textAt + 1, at),
      shard: readUint16(bytes, at),
      epoch: readU48(bytes, at + 2),
      vb: readUint16(bytes, at + 8),
      live: (bits & BatchBit.live) !== 0,
      isAwaited: (bits & BatchBit.awaited) !== 0,
      start: readU48(bytes, at + 11),
      to: readU48(bytes, at + 17),
      end: readU48(bytes, at + 23),
    };
    const message = bodyAt > historyAt ? { ...head, failover: bytes.subarray(historyAt, bodyAt) } : head;
    return { message, body: bytes.subarray(bodyAt, end) };
  }

  private got(bytes: Buffer, start: number, end: number): PositionReport {
    const at = endOfBucket(bytes, start, end, 4);
    const rowsAt = at + 4;
    if ((end - rowsAt) % reportedPositionBytes !== 0)
      throw new Error('the positions of a frame are incomplete');
    const rows: ReportedPosition[] = [];
    for (let rowAt = rowsAt; rowAt < end; rowAt += reportedPositionBytes)
      rows.push(decodePosition(bytes, rowAt));
    return {
      kind: 'got',
      bucket: this.bucketOf(bytes, start + textAt + 1, at),
      bytes: readU32(bytes, at),
      rows,
    };
  }

  private bucketOf(bytes: Buffer, start: number, end: number): string {
    if (!isText(this.bucket, bytes, start, end)) this.bucket = bytes.toString('latin1', start, end);
    return this.bucket;
  }
}

function isText(text: string, bytes: Buffer, start: number, end: number): boolean {
  if (text.length !== end - start) return false;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}

/** The offset after the bucket, of which at least `length` bytes must follow. */
function endOfBucket(bytes: Buffer, start: number, end: number, length: number): number {
  const at = start + textAt + 1 + (bytes[start + textAt] ?? 0);
  if (at + length > end) throw new Error('a frame is too short for its header');
  return at;
}

const decodePosition = (bytes: Buffer, at: number): ReportedPosition => ({
  shard: readUint16(bytes, at),
  epoch: readU48(bytes, at + 2),
  vb: readUint16(bytes, at + 8),
  received: readU48(bytes, at + 10),
  persisted: readU48(bytes, at + 16),
  following: bytes[at + 22] === 1,
});

const readUint16 = (bytes: Buffer, at: number): number =>
  ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
