// Messages to and from data services of version 0.2, so that a cluster can be upgraded node by node: four bytes of length, two bytes of
// header length, a header in JSON, and for batches the changes. This version sends the first message of every connection in this form, too;
// that message says whether its sender reads the present one.
import { assert } from '#base/assert.ts';
import type { DecodedFrame } from './frame-decoder.ts';
import {
  type CopyBatch,
  type EarlierMessage,
  lengthBytes,
  type PeerMessage,
  peerFrameBytesMax,
} from './frames.ts';
import { positionsIn, rowsOf } from './position-rows.ts';
import { decodeEarlierText } from './text-messages.ts';

const headBytes = 2;
const headerAt = lengthBytes + headBytes;
const headerBytesMax = 0xffff;
const braceCode = 0x7b;
const noBytes = Buffer.alloc(0);

/** Whether a first frame has the form of 0.2: the text of one in the present form begins a byte earlier. */
export const isEarlierFrame = (bytes: Buffer, start: number): boolean =>
  bytes[start + headerAt] === braceCode;

/** The frames of a message; none for one that 0.2 does not know. */
function encode(message: PeerMessage, body: Uint8Array = noBytes): Buffer {
  if (isUnknown(message)) return noBytes;
  if (message.kind === 'batch') return frameOf(earlierBatch(message), body);
  if (message.kind === 'got') {
    const { bucket, bytes, rows } = message;
    // A message reports the position of one vbucket. A message for a vbucket without a feed only confirms bytes.
    const [first = noPosition, ...others] = positionsIn(rows);
    const got = (row: object, confirmed: number): Buffer =>
      frameOf({ kind: 'got', bucket, ...row, bytes: confirmed });
    return Buffer.concat([got(first, bytes), ...others.map((row) => got(row, 0))]);
  }
  const confirmed = 'bytes' in message ? (message.bytes ?? 0) : 0;
  if (!('bucket' in message) || confirmed === 0) return frameOf(message);
  return Buffer.concat([
    frameOf({ kind: 'got', bucket: message.bucket, ...noPosition, bytes: confirmed }),
    frameOf(message),
  ]);
}

const isUnknown = ({ kind }: PeerMessage): boolean =>
  ['ended', 'continued', 'rollBack', 'wanted', 'versions'].includes(kind);

const noPosition = { shard: 0, epoch: 0, vb: 0, received: 0, persisted: 0, following: false };

const earlierBatch = ({ awaitsDisk: _, failover, isAwaited: __, ...batch }: CopyBatch): object =>
  failover === undefined ? batch : { ...batch, failover: Buffer.from(failover).toString('base64') };

function frameOf(message: object, body: Uint8Array = noBytes): Buffer {
  const header = Buffer.from(JSON.stringify(message));
  assert(header.length <= headerBytesMax, 'the header of a message is too long');
  const length = headBytes + header.length + body.length;
  assert(length <= peerFrameBytesMax, 'a message is larger than a frame may be');
  const frame = Buffer.allocUnsafe(lengthBytes + length);
  frame.writeUInt32BE(length);
  frame.writeUInt16BE(header.length, lengthBytes);
  header.copy(frame, headerAt);
  frame.set(body, headerAt + header.length);
  return frame;
}

/** Reads the frame from `start` to `end`. @throws Error when these bytes are no frame. */
function decode(bytes: Buffer, start: number, end: number): DecodedFrame {
  if (end - start < headerAt) throw new Error('a frame is too short for its header');
  const bodyAt = start + headerAt + bytes.readUInt16BE(start + lengthBytes);
  if (bodyAt > end) throw new Error('the header of a frame runs over its end');
  const text = bytes.toString('utf8', start + headerAt, bodyAt);
  return { message: presentForm(decodeEarlierText(text)), body: bytes.subarray(bodyAt, end) };
}

function presentForm(message: EarlierMessage): PeerMessage {
  if (message.kind === 'open') return { ...message, feed: message.feed ?? 0 };
  if (message.kind === 'batch') {
    const { failover, ...batch } = message;
    return {
      ...batch,
      isAwaited: true,
      awaitsDisk: false,
      ...(failover !== undefined && { failover: Buffer.from(failover, 'base64') }),
    };
  }
  if (message.kind !== 'got') return message;
  const { bucket, bytes, kind, ...row } = message;
  return { kind, bucket, bytes, rows: rowsOf([row]) };
}

export const earlierForm = { encode, decode };
