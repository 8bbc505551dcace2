// Reads the frames of one connection.
import { readU16, readU32, readU48 } from '#wire/bytes.ts';
import {
  BatchBit,
  type BatchBody,
  batchHeadBytes,
  type CopyBatch,
  emptyBatch,
  FrameForm,
  lengthBytes,
  type Mutable,
  type PeerMessage,
  type PositionReport,
  partHeadBytes,
  reportedPositionBytes,
  textBytes,
} from './frames.ts';
import { decodeText } from './text-messages.ts';

export interface DecodedFrame {
  readonly message: PeerMessage;
  /** The changes of a batch. */
  readonly body: Buffer;
}

/** Called with each batch of a frame, and its size; batch and body are valid during the call. */
export type ReceiveBatch = (batch: CopyBatch, body: BatchBody, bytes: number) => void;

const noBody = Buffer.alloc(0);
const textAt = lengthBytes + 1;

export class FrameDecoder {
  /** The bucket of the last frame: nearly all frames name the same one, so that no string is made for each. */
  private bucket = '';
  /** Filled for each batch of a frame. */
  private readonly part = emptyBatch();
  private readonly partBody: Mutable<BatchBody> = { bytes: noBody, start: 0, end: 0, items: 0 };

  /** Whether the frame has batches, which `batches` reads. */
  static hasBatches(bytes: Buffer, start: number): boolean {
    return bytes[start + lengthBytes] === FrameForm.batches;
  }

  /** Reads the batches of the frame from `start` to `end`. @throws Error when one is not whole. */
  batches(bytes: Buffer, start: number, end: number, receive: ReceiveBatch): void {
    const { part, partBody } = this;
    let at = endOfBucket(bytes, start, end, 0);
    part.bucket = this.bucketOf(bytes, start + textAt + 1, at);
    while (at < end) {
      if (at + partHeadBytes > end) throw new Error('a batch is too short for its header');
      const next = at + lengthBytes + readU32(bytes, at);
      const head = at + lengthBytes;
      const historyAt = at + partHeadBytes;
      readHead(bytes, head, part);
      const itemsAt = historyAt + readU16(bytes, head + batchHeadBytes - 2);
      if (itemsAt > next || next > end) throw new Error('a batch extends beyond the end of its frame');
      part.failover = itemsAt > historyAt ? bytes.subarray(historyAt, itemsAt) : undefined;
      partBody.bytes = bytes;
      partBody.start = itemsAt;
      partBody.end = next;
      partBody.items = readU16(bytes, historyAt - 2);
      receive(part, partBody, next - at);
      at = next;
    }
  }

  /** Reads the frame from `start` to `end`. @throws Error when these bytes are no frame. */
  decode(bytes: Buffer, start = 0, end = bytes.length): DecodedFrame {
    const form = bytes[start + lengthBytes];
    if (form === FrameForm.batch) return this.batch(bytes, start, end);
    if (form === FrameForm.got) return { message: this.got(bytes, start, end), body: noBody };
    if (form === FrameForm.text)
      return { message: decodeText(bytes.toString('utf8', start + textAt, end)), body: noBody };
    if (form === FrameForm.textWithBody) return textWithBody(bytes, start + textAt, end);
    throw new Error(`unknown form ${form} of a frame`);
  }

  private batch(bytes: Buffer, start: number, end: number): DecodedFrame {
    const at = endOfBucket(bytes, start, end, batchHeadBytes);
    const historyAt = at + batchHeadBytes;
    const bodyAt = historyAt + readU16(bytes, at + batchHeadBytes - 2);
    if (bodyAt > end) throw new Error('the failover log of a frame runs over its end');
    const message = emptyBatch();
    message.bucket = this.bucketOf(bytes, start + textAt + 1, at);
    readHead(bytes, at, message);
    if (bodyAt > historyAt) message.failover = bytes.subarray(historyAt, bodyAt);
    return { message, body: bytes.subarray(bodyAt, end) };
  }

  private got(bytes: Buffer, start: number, end: number): PositionReport {
    const at = endOfBucket(bytes, start, end, 4);
    const rowsAt = at + 4;
    if ((end - rowsAt) % reportedPositionBytes !== 0)
      throw new Error('the positions of a frame are incomplete');
    return {
      kind: 'got',
      bucket: this.bucketOf(bytes, start + textAt + 1, at),
      bytes: readU32(bytes, at),
      rows: bytes.subarray(rowsAt, end),
    };
  }

  private bucketOf(bytes: Buffer, start: number, end: number): string {
    if (!isText(this.bucket, bytes, start, end)) this.bucket = bytes.toString('latin1', start, end);
    return this.bucket;
  }
}

function textWithBody(bytes: Buffer, start: number, end: number): DecodedFrame {
  const bodyAt = start + textBytes + (start + textBytes <= end ? readU32(bytes, start) : 0);
  if (bodyAt > end) throw new Error('the message of a frame runs over its end');
  const message = decodeText(bytes.toString('utf8', start + textBytes, bodyAt));
  return { message, body: bytes.subarray(bodyAt, end) };
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

function readHead(bytes: Buffer, at: number, batch: Mutable<CopyBatch>): void {
  const bits = bytes[at + 10] as number;
  batch.shard = readU16(bytes, at);
  batch.epoch = readU48(bytes, at + 2);
  batch.vb = readU16(bytes, at + 8);
  batch.live = (bits & BatchBit.live) !== 0;
  batch.isAwaited = (bits & BatchBit.awaited) !== 0;
  batch.awaitsDisk = (bits & BatchBit.awaitsDisk) !== 0;
  batch.start = readU48(bytes, at + 11);
  batch.to = readU48(bytes, at + 17);
  batch.end = readU48(bytes, at + 23);
}
