// Frames that wait to be sent on a connection, one after the other: those of one turn are one write.
import { assert } from '#base/assert.ts';
import { writeU32, writeU48 } from '#wire/bytes.ts';
import { type CutItem, itemBytes, writeItem } from '../data/cut.ts';
import {
  BatchBit,
  batchHeadBytes,
  type CopyBatch,
  FrameForm,
  lengthBytes,
  type PeerMessage,
  type PositionReport,
  partHeadBytes,
  peerFrameBytesMax,
  type ShardRef,
  type TextMessage,
  textBytes,
} from './frames.ts';

/** Memory is allocated in pieces of this size, which are used again: what is sent would cost V8 many collections otherwise. */
const pieceBytes = 128 * 1024;
/** A frame of batches gets no further batch from this size on, so that its receiver can begin to apply it. */
const batchesBytes = 32 * 1024;
const noBytes = Buffer.alloc(0);
const none = -1;

/** What a batch contains: see `CopyBatch`. */
export type BatchRange = Pick<CopyBatch, 'start' | 'to' | 'end' | 'live' | 'isAwaited' | 'awaitsDisk'>;

export class FrameWriter {
  private buffer: Buffer<ArrayBufferLike> = noBytes;
  /** A piece of which everything was sent. */
  private spare: Buffer<ArrayBufferLike> | null = null;
  /** By memory: how often `drain` returned a part of it that is not sent. */
  private readonly unsent = new Map<ArrayBufferLike, number>();
  /** The offset of the first byte that `drain` has not returned. */
  private start = 0;
  private end = 0;
  /** The last frame, if it has batches and may get another one, and the bucket that it names. */
  private batchesAt = none;
  private batchesOf = '';
  /** The batch that was begun and not ended. */
  private partAt = none;
  private partItems = 0;

  /** The size of the frames that `drain` has not returned. */
  get bytes(): number {
    return this.end - this.start;
  }

  /** Appends the frame of a message. Returns its size. */
  add(message: PeerMessage, body: Uint8Array = noBytes): number {
    const before = this.bytes;
    this.batchesAt = none;
    if (message.kind === 'batch') this.batch(message, body);
    else if (message.kind === 'got') this.got(message);
    else this.textFrame(message, body);
    return this.bytes - before;
  }

  /** Appends the frame of a batch without its body, which must be sent next. Returns the size without the body. */
  addHead(batch: CopyBatch, bodyBytes: number): number {
    const before = this.bytes;
    this.batchesAt = none;
    this.batchHead(batch, bodyBytes);
    return this.bytes - before;
  }

  /** Appends whole frames that another form encoded. Returns their size. */
  addEncoded(frames: Uint8Array): number {
    this.reserve(frames.length);
    this.batchesAt = none;
    this.append(frames);
    return frames.length;
  }

  /** Begins a batch of changes; `item` for each, then `endBatch` or `abandonBatch`. Batches of one turn share a frame. */
  beginBatch(shard: ShardRef, vb: number, failover: Uint8Array = noBytes): void {
    assert(this.partAt === none, 'a batch is open');
    const { bucket, epoch } = shard;
    const isOpen =
      this.batchesAt !== none && this.batchesOf === bucket && this.end - this.batchesAt < batchesBytes;
    if (!isOpen) this.beginBatches(bucket);
    this.reserve(partHeadBytes + failover.length);
    this.partAt = this.end;
    this.partItems = 0;
    this.end += lengthBytes;
    this.u16(shard.shard);
    this.u48(epoch);
    this.u16(vb);
    this.end = this.partAt + partHeadBytes - 4;
    this.u16(failover.length);
    this.end += 2;
    this.append(failover);
  }

  item(item: CutItem): void {
    this.reserve(itemBytes(item));
    this.end = writeItem(this.buffer, this.end, item);
    this.partItems++;
  }

  /** The size of the batch that was begun. */
  get batchBytes(): number {
    return this.end - this.partAt;
  }

  /** Returns the size of the batch. */
  endBatch(range: BatchRange): number {
    const { batchBytes, buffer, end, partAt } = this;
    writeU32(buffer, partAt, batchBytes - lengthBytes);
    this.end = partAt + lengthBytes + 10;
    this.range(range);
    this.end += 2;
    this.u16(this.partItems);
    this.end = end;
    this.partAt = none;
    const length = end - this.batchesAt - lengthBytes;
    assert(length <= peerFrameBytesMax, 'a message is larger than a frame may be');
    writeU32(buffer, this.batchesAt, length);
    return batchBytes;
  }

  /** Discards the batch that was begun. */
  abandonBatch(): void {
    this.end = this.partAt;
    this.partAt = none;
  }

  private beginBatches(bucket: string): void {
    this.begin(FrameForm.batches, 1 + bucket.length);
    this.batchesAt = this.end - 1 - lengthBytes;
    this.batchesOf = bucket;
    this.text(bucket);
  }

  /** The frames since the last call, which do not change until they are passed to `sent`. */
  drain(): Buffer {
    assert(this.partAt === none, 'a batch is open');
    this.batchesAt = none;
    const taken = this.buffer.subarray(this.start, this.end);
    this.start = this.end;
    this.unsent.set(taken.buffer, (this.unsent.get(taken.buffer) ?? 0) + 1);
    return taken;
  }

  /** Call when the bytes that `drain` returned are sent. When all bytes of a piece of memory are sent, the next frames are written there. */
  sent({ buffer: memory }: Buffer): void {
    const left = (this.unsent.get(memory) ?? 0) - 1;
    if (left > 0) this.unsent.set(memory, left);
    else this.release(memory);
  }

  private release(memory: ArrayBufferLike): void {
    this.unsent.delete(memory);
    const isLarge = memory.byteLength > pieceBytes;
    if (memory !== this.buffer.buffer) {
      if (!isLarge) this.spare ??= Buffer.from(memory);
    } else if (this.start === this.end) {
      this.start = this.end = 0;
      // A document of 20 MB would otherwise keep as much memory until the connection ends.
      if (isLarge) this.buffer = noBytes;
    }
  }

  private textFrame(message: TextMessage, body: Uint8Array): void {
    const text = Buffer.from(JSON.stringify(message));
    if (body.length === 0) this.begin(FrameForm.text, text.length);
    else {
      this.begin(FrameForm.textWithBody, textBytes + text.length + body.length);
      this.end = writtenU32(this.buffer, this.end, text.length);
    }
    this.append(text);
    this.append(body);
  }

  private batch(message: CopyBatch, body: Uint8Array): void {
    this.batchHead(message, body.length);
    this.reserve(body.length);
    this.append(body);
  }

  private batchHead(message: CopyBatch, bodyBytes: number): void {
    const { bucket, epoch, failover = noBytes, shard, vb } = message;
    this.begin(FrameForm.batch, 1 + bucket.length + batchHeadBytes + failover.length, bodyBytes);
    this.text(bucket);
    this.u16(shard);
    this.u48(epoch);
    this.u16(vb);
    this.range(message);
    this.u16(failover.length);
    this.append(failover);
  }

  private range({ awaitsDisk, end, isAwaited, live, start, to }: BatchRange): void {
    const awaited = (isAwaited ? BatchBit.awaited : 0) | (awaitsDisk ? BatchBit.awaitsDisk : 0);
    this.u8((live ? BatchBit.live : 0) | awaited);
    this.u48(start);
    this.u48(to);
    this.u48(end);
  }

  private got({ bucket, bytes, rows }: PositionReport): void {
    this.begin(FrameForm.got, 1 + bucket.length + 4 + rows.length);
    this.text(bucket);
    this.end = writtenU32(this.buffer, this.end, bytes);
    this.append(rows);
  }

  /** Reserves memory for the content, and none for a body that follows it. */
  private begin(form: number, contentBytes: number, bodyBytes = 0): void {
    const length = 1 + contentBytes + bodyBytes;
    assert(length <= peerFrameBytesMax, 'a message is larger than a frame may be');
    this.reserve(lengthBytes + 1 + contentBytes);
    this.end = writtenU32(this.buffer, this.end, length);
    this.u8(form);
  }

  /** Moves the waiting frames to other memory if the next one does not fit. */
  private reserve(bytes: number): void {
    if (this.end + bytes <= this.buffer.length) return;
    const { bytes: kept } = this;
    const next = this.piece(2 * kept + bytes);
    this.buffer.copy(next, 0, this.start, this.end);
    if (this.batchesAt !== none) this.batchesAt -= this.start;
    if (this.partAt !== none) this.partAt -= this.start;
    this.buffer = next;
    this.start = 0;
    this.end = kept;
  }

  private piece(bytesMin: number): Buffer<ArrayBufferLike> {
    const { spare } = this;
    if (spare === null || bytesMin > pieceBytes)
      return Buffer.allocUnsafeSlow(Math.max(pieceBytes, bytesMin));
    this.spare = null;
    return spare;
  }

  private append(bytes: Uint8Array): void {
    if (bytes.length > 0) this.buffer.set(bytes, this.end);
    this.end += bytes.length;
  }

  private text(text: string): void {
    assert(text.length <= 0xff, 'the uuid of a bucket is too long');
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
  return frames.drain();
}
