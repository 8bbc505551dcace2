// Splits the byte chunks of one connection into frames. Chunks are read in place; only the rest of a chunk (a frame that ends
// in a later chunk, or frames that must wait) is copied into the reader's own memory.
import { assert } from '#base/assert.ts';
import { reportToCollector, sharedMemory } from '#base/shared-memory.ts';
import { type Frame, FrameResult, headerBytes, readFrame } from './frame.ts';

const emptyBuffer = Buffer.alloc(0);
/** Own memory of at most this size is used again when it is empty. */
const reusedBytesMax = 4096;
/** Frames of this size and above are read into shared memory, because a worker thread may process them. */
const sharedFrom = 64 * 1024;

function newShared(bytes: number): Buffer<SharedArrayBuffer> {
  const memory = sharedMemory(bytes);
  if (memory === null) throw new Error('the system has no memory for a large request');
  return Buffer.from(memory, 0, bytes);
}

const isShared = (bytes: Buffer): bytes is Buffer<SharedArrayBuffer> =>
  bytes.buffer instanceof SharedArrayBuffer;

export class FrameReader {
  /** Longer frames are refused. */
  bytesMax: number;
  /** The chunk; its bytes from `at` to `end` are unread. */
  private input: Buffer = emptyBuffer;
  private at = 0;
  private end = 0;
  /** The reader's own memory; its bytes from `ownAt` to `ownEnd` are unread, and come before those of the chunk. */
  private own: Buffer = emptyBuffer;
  private ownAt = 0;
  private ownEnd = 0;
  /** Size of the arriving frame that the caller has accounted for, 0 without one. */
  private expected = 0;
  /** Own memory has exactly the size of the large frame in it. Bytes after that frame go to `following`, because growing would copy the frame. */
  private holdsOneFrame = false;
  private following: Buffer = emptyBuffer;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Sets the chunk to read from. The previous one must have been read to its end, or its rest copied by `copyUnread`. */
  feed(chunk: Buffer, start: number, end: number): void {
    this.input = chunk;
    this.at = start;
    this.end = end;
  }

  /** Reads the next frame into `frame`; its bytes are valid until the next call of this reader. */
  next(frame: Frame): FrameResult {
    while (this.moveOn()) {
      const result = readFrame(this.own, this.ownAt, this.ownEnd, frame, this.bytesMax);
      if (result === FrameResult.whole) {
        this.ownAt = frame.end;
        this.expected = 0;
      }
      if (result !== FrameResult.needMore) return result;
      assert(this.following.length === 0, 'a frame in own memory is incomplete, but bytes follow it');
      const missing = frame.needed - (this.ownEnd - this.ownAt);
      const appended = Math.min(missing, this.end - this.at);
      if (appended === 0) return FrameResult.needMore;
      this.append(appended);
    }
    const result = readFrame(this.input, this.at, this.end, frame, this.bytesMax);
    if (result === FrameResult.whole) this.at = frame.end;
    return result;
  }

  /**
   * The bytes of the frame just read in memory that the caller owns and other threads can read. The reader hands over its own
   * memory if it contains only this frame; else the bytes are a copy.
   */
  detach(frame: Frame): Buffer {
    const isAlone = frame.buffer === this.own && frame.end === this.ownEnd && isShared(this.own);
    const bytes = frame.buffer.subarray(frame.start, frame.end);
    if (!isAlone) {
      const copy = newShared(bytes.length);
      bytes.copy(copy);
      reportToCollector(copy.buffer);
      return copy;
    }
    this.own = emptyBuffer;
    this.ownAt = this.ownEnd = 0;
    this.holdsOneFrame = false;
    return bytes;
  }

  /**
   * The caller has accounted for the memory of an arriving frame of this size. The reader allocates it at once instead of growing smaller
   * buffers; the system backs it with real memory only as bytes arrive.
   */
  expect(bytes: number): void {
    this.expected = bytes;
  }

  /** Puts the frame just read back, so that `next` reads it again. */
  unread(frame: Frame): void {
    if (frame.buffer === this.own && this.ownAt === frame.end) this.ownAt = frame.start;
    else this.at = frame.start;
  }

  /** Copies the unread rest of the chunk into own memory, so that the caller can reuse the chunk's memory. */
  copyUnread(): void {
    const hasUnread = this.moveOn();
    if (this.at < this.end) this.copyRest();
    else if (!hasUnread) this.release();
    this.input = emptyBuffer;
    this.at = 0;
    this.end = 0;
  }

  /** Unread bytes in own memory. */
  get unreadBytes(): number {
    return this.ownEnd - this.ownAt + this.following.length;
  }

  /** Continues with the bytes that follow a large frame once the frame is read. Returns whether own memory has unread bytes. */
  private moveOn(): boolean {
    if (this.ownAt < this.ownEnd) return true;
    if (this.following.length === 0) return false;
    this.own = this.following;
    this.ownAt = 0;
    this.ownEnd = this.own.length;
    this.following = emptyBuffer;
    this.holdsOneFrame = false;
    return true;
  }

  private copyRest(): void {
    const room = this.holdsOneFrame && this.ownAt < this.ownEnd ? this.own.length - this.ownEnd : Infinity;
    this.append(Math.min(this.end - this.at, room));
    if (this.at < this.end)
      this.following = Buffer.concat([this.following, this.input.subarray(this.at, this.end)]);
  }

  private append(bytes: number): void {
    this.reserve(bytes);
    this.input.copy(this.own, this.ownEnd, this.at, this.at + bytes);
    this.ownEnd += bytes;
    this.at += bytes;
    if (this.own.length >= sharedFrom && isShared(this.own)) reportToCollector(this.own.buffer, this.ownEnd);
  }

  private reserve(bytes: number): void {
    const unread = this.ownEnd - this.ownAt;
    if (this.ownEnd + bytes <= this.own.length) return;
    this.holdsOneFrame = false;
    const to = unread + bytes <= this.own.length ? this.own : this.grown(unread, bytes);
    this.own.copy(to, 0, this.ownAt, this.ownEnd);
    this.own = to;
    this.ownAt = 0;
    this.ownEnd = unread;
  }

  /** Memory grows with the bytes received, and to the length that a header claims only if that is accounted for. */
  private grown(unread: number, bytes: number): Buffer {
    const size = Math.max(this.expected, unread * 2, headerBytes, unread + bytes);
    this.holdsOneFrame = size === this.expected;
    this.expected = 0;
    return size < sharedFrom ? Buffer.allocUnsafeSlow(size) : newShared(size);
  }

  private release(): void {
    if (this.own.length > reusedBytesMax) this.own = emptyBuffer;
    this.ownAt = 0;
    this.ownEnd = 0;
    this.holdsOneFrame = false;
  }
}
