// The messages between two data services, and their form on a connection: four bytes of length, two bytes of header length, a header in
// JSON, and for batches the changes as a cut.
import { assert } from '#base/assert.ts';

/** A document of the largest size with its key, and the header. */
export const peerFrameBytesMax = 32 * 1024 * 1024;
const lengthBytes = 4;
const headBytes = 2;
const headerBytesMax = 0xffff;

/** A shard of a bucket, under an epoch of its active. */
export interface ShardRef {
  readonly bucket: string;
  readonly shard: number;
  readonly epoch: number;
}

export interface PeerHello {
  readonly kind: 'hello';
  readonly node: string;
  readonly boot: string;
  /** Its answers to beats contain the duration of the promise; answers of older nodes promise ten seconds, and they expect the same. */
  readonly saysPromise?: boolean;
}

/** Sent by both sides every 200 ms; the answer (`beaten`) repeats the time. */
export interface Beat {
  readonly kind: 'beat' | 'beaten';
  readonly sentMs: number;
  readonly wallMs: number;
  /** In an answer: for so long after it the node confirms no higher epoch. */
  readonly promiseMs?: number;
  /** In a beat: whether the sender serves only as long as such promises last; it does unless it says no. */
  readonly needsPromise?: boolean;
}

/** The last message of a process that stops: it serves no document any more, so that promises to it have ended. */
export interface Ended {
  readonly kind: 'ended';
}

/** The active of a shard begins to feed the copy of the receiver. */
export interface Open extends ShardRef {
  readonly kind: 'open';
  readonly incarnation: number;
  /** The feed of the active that asks; the answer repeats it. */
  readonly feed: number;
}

/** The copy has changes in these vbuckets that the active does not have: it removes these vbuckets and is rebuilt. */
export interface Empty extends ShardRef {
  readonly kind: 'empty';
  readonly vbs: readonly number[];
}

/**
 * The copy is ready, or the epoch is over: `epoch` is the one that the copy knows. `failed`: the copy could not apply a batch, and
 * the active asks for its position again.
 */
export interface Opened extends ShardRef {
  readonly kind: 'opened' | 'refused' | 'failed';
  readonly rows: readonly CopyRow[];
  /** The feed that is answered; absent: an older node answers. */
  readonly feed?: number;
  /** Bytes of batches that the copy received and will not apply. */
  readonly bytes?: number;
}

export interface CopyRow {
  readonly vb: number;
  readonly high: number;
  readonly persisted: number;
  /** In base64, as its file has it. */
  readonly failover: string;
}

/**
 * Changes of a vbucket after `start - 1` and up to `to`, of a snapshot that ends at `end`. `live`: the copy then has all that the active
 * had when it sent this.
 */
export interface CopyBatch extends ShardRef {
  readonly kind: 'batch';
  readonly vb: number;
  readonly start: number;
  readonly to: number;
  readonly end: number;
  readonly live: boolean;
  /** With the first batch: the active's failover log, in base64. */
  readonly failover?: string;
}

/** The position of a copy. `bytes` were received since the last such message. */
export interface Got extends ShardRef {
  readonly kind: 'got';
  readonly vb: number;
  readonly received: number;
  readonly persisted: number;
  readonly following: boolean;
  readonly bytes: number;
}

export type PeerMessage = PeerHello | Beat | Ended | Open | Empty | Opened | CopyBatch | Got;

const kinds: Readonly<Record<PeerMessage['kind'], true>> = {
  hello: true,
  beat: true,
  beaten: true,
  ended: true,
  open: true,
  empty: true,
  opened: true,
  refused: true,
  failed: true,
  batch: true,
  got: true,
};
const noBody = new Uint8Array(0);

export function encodeFrame(message: PeerMessage, body: Uint8Array = noBody): Buffer {
  const header = Buffer.from(JSON.stringify(message));
  assert(header.length <= headerBytesMax, 'a message header is short');
  const length = headBytes + header.length + body.length;
  assert(length <= peerFrameBytesMax, 'a batch fits a frame');
  const frame = Buffer.allocUnsafe(lengthBytes + length);
  frame.writeUInt32BE(length);
  frame.writeUInt16BE(header.length, lengthBytes);
  header.copy(frame, lengthBytes + headBytes);
  frame.set(body, lengthBytes + headBytes + header.length);
  return frame;
}

/** Message and body of a whole frame. @throws Error when it is none. */
export function decodeFrame(frame: Buffer): { message: PeerMessage; body: Buffer } {
  if (frame.length < lengthBytes + headBytes) throw new Error('a frame is too short for its header');
  const bodyAt = lengthBytes + headBytes + frame.readUInt16BE(lengthBytes);
  if (bodyAt > frame.length) throw new Error('the header of a frame runs over its end');
  const message = JSON.parse(frame.toString('utf8', lengthBytes + headBytes, bodyAt)) as PeerMessage;
  if (!Object.hasOwn(kinds, message.kind)) throw new Error(`unknown message ${JSON.stringify(message.kind)}`);
  return { message, body: frame.subarray(bodyAt) };
}

/** Finds whole frames in the bytes of a connection. */
export class FrameSplitter {
  private pieces: Buffer[] = [];
  private bytes = 0;

  /** @throws Error when a frame is too large. */
  push(chunk: Buffer): Buffer[] {
    this.pieces.push(chunk);
    this.bytes += chunk.length;
    const frames: Buffer[] = [];
    for (let length = this.frameLength(); length > 0 && length <= this.bytes; length = this.frameLength()) {
      const all = this.joined();
      frames.push(all.subarray(0, length));
      this.bytes -= length;
      this.pieces = [all.subarray(length)];
    }
    return frames;
  }

  /** 0 until it is known. */
  private frameLength(): number {
    if (this.bytes < lengthBytes) return 0;
    const [first = noBody] = this.pieces;
    const head = first.length >= lengthBytes ? (first as Buffer) : this.joined();
    const length = head.readUInt32BE(0);
    if (length > peerFrameBytesMax)
      throw new Error(`a frame of ${length} bytes; at most ${peerFrameBytesMax} are taken`);
    return lengthBytes + length;
  }

  private joined(): Buffer {
    const [all = Buffer.alloc(0)] = this.pieces.length === 1 ? this.pieces : [Buffer.concat(this.pieces)];
    this.pieces = [all];
    return all;
  }
}
