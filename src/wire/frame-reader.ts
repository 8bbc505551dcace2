// Finds the frames in the chunks of one connection. Chunks are read in place; only what is left of a chunk (a frame
// that ends in a later one, or frames that must wait) is copied into memory of its own.
import { type Frame, FrameResult, headerBytes, readFrame } from './frame.ts';

const emptyBuffer = Buffer.alloc(0);
/** Own memory up to this size is kept for the next leftover. */
const keptBytes = 4096;
/** Frames so large may be worked on by another thread. */
const sharedFrom = 64 * 1024;

const isShared = (bytes: Buffer): boolean => bytes.buffer instanceof SharedArrayBuffer;

export class FrameReader {
  /** Frames with more bytes than this are refused. */
  bytesMax: number;
  private input: Buffer = emptyBuffer;
  private at = 0;
  private end = 0;
  private own: Buffer = emptyBuffer;
  private ownAt = 0;
  private ownEnd = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Takes a chunk to read from; the one before must have been used up or kept. */
  feed(chunk: Buffer, start: number, end: number): void {
    this.input = chunk;
    this.at = start;
    this.end = end;
  }

  /** The next frame, valid until the next call into this reader. */
  next(frame: Frame): FrameResult {
    while (this.ownAt < this.ownEnd) {
      const result = readFrame(this.own, this.ownAt, this.ownEnd, frame, this.bytesMax);
      if (result === FrameResult.whole) this.ownAt = frame.end;
      if (result !== FrameResult.needMore) return result;
      const missing = frame.needed - (this.ownEnd - this.ownAt);
      const taken = Math.min(missing, this.end - this.at);
      if (taken === 0) return FrameResult.needMore;
      this.append(taken);
    }
    const result = readFrame(this.input, this.at, this.end, frame, this.bytesMax);
    if (result === FrameResult.whole) this.at = frame.end;
    return result;
  }

  /**
   * The frame just read in memory of its own, which other threads can read: the reader's, where that holds nothing else, else
   * a copy.
   */
  take(frame: Frame): Buffer {
    const isAlone = frame.buffer === this.own && frame.end === this.ownEnd && isShared(this.own);
    const bytes = frame.buffer.subarray(frame.start, frame.end);
    if (!isAlone) {
      const copy = Buffer.from(new SharedArrayBuffer(bytes.length));
      bytes.copy(copy);
      return copy;
    }
    this.own = emptyBuffer;
    this.ownAt = this.ownEnd = 0;
    return bytes;
  }

  /** Puts the frame just read back, to be read again. */
  unread(frame: Frame): void {
    if (frame.buffer === this.own && this.ownAt === frame.end) this.ownAt = frame.start;
    else this.at = frame.start;
  }

  /** Moves what is left of the chunk into own memory, so that the chunk's memory may be used again. */
  keep(): void {
    if (this.at < this.end) this.append(this.end - this.at);
    else if (this.ownAt === this.ownEnd) this.release();
    this.input = emptyBuffer;
    this.at = 0;
    this.end = 0;
  }

  /** Bytes that wait in own memory. */
  get keptBytes(): number {
    return this.ownEnd - this.ownAt;
  }

  private append(bytes: number): void {
    this.reserve(bytes);
    this.input.copy(this.own, this.ownEnd, this.at, this.at + bytes);
    this.ownEnd += bytes;
    this.at += bytes;
  }

  private reserve(bytes: number): void {
    const held = this.ownEnd - this.ownAt;
    if (this.ownEnd + bytes <= this.own.length) return;
    // Grown with the bytes that have really come, never to a length that a header merely claims.
    const size =
      held + bytes <= this.own.length ? this.own.length : Math.max(held * 2, held + bytes, headerBytes);
    const grown = size < sharedFrom ? Buffer.allocUnsafeSlow(size) : Buffer.from(new SharedArrayBuffer(size));
    this.own.copy(grown, 0, this.ownAt, this.ownEnd);
    this.own = grown;
    this.ownAt = 0;
    this.ownEnd = held;
  }

  private release(): void {
    if (this.own.length > keptBytes) this.own = emptyBuffer;
    this.ownAt = 0;
    this.ownEnd = 0;
  }
}
