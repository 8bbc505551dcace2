// Finds whole frames in the bytes of a connection, without copying those that arrived in one piece. The caller may reuse the memory of what it
// pushed; a frame is valid while it is taken.
import { readU32 } from '#wire/bytes.ts';
import { lengthBytes, peerFrameBytesMax } from './frames.ts';

const noBytes = Buffer.alloc(0);
/** The first memory for beginnings of frames: enough for most frames of batches. */
const firstBytes = 64 * 1024;
/** Larger memory is used for one frame only: a page of changes that were read from disk has half as much. */
const keptBytes = 1024 * 1024;

/** A frame is `bytes` from `start` to `end`. */
export type ReceiveFrame = (bytes: Buffer, start: number, end: number) => void;

export class FrameSplitter {
  /** The beginning of a frame, in memory that is used for the next frames too: new memory for each one would cost V8 many collections. */
  private stored = noBytes;
  private storedBytes = 0;

  /**
   * Passes to `receive` each whole frame.
   * @throws Error when a frame is too large.
   */
  push(chunk: Buffer, receive: ReceiveFrame): void {
    const start = this.storedBytes === 0 ? 0 : this.complete(chunk, receive);
    if (start < 0) return;
    const left = passWhole(chunk, start, receive);
    this.store(chunk, left, chunk.length);
  }

  /** Takes the frame whose beginning is stored. Returns the offset after it in the chunk; -1: the frame is still not whole. */
  private complete(chunk: Buffer, receive: ReceiveFrame): number {
    const lengthEnd = Math.max(0, lengthBytes - this.storedBytes);
    if (lengthEnd > chunk.length) {
      this.store(chunk, 0, chunk.length);
      return -1;
    }
    this.store(chunk, 0, lengthEnd);
    const end = endOf(this.stored, 0);
    this.reserve(end);
    const frameEnd = lengthEnd + end - this.storedBytes;
    this.store(chunk, lengthEnd, Math.min(frameEnd, chunk.length));
    if (this.storedBytes < end) return -1;
    this.passStored(receive);
    return frameEnd;
  }

  private passStored(receive: ReceiveFrame): void {
    const { stored, storedBytes } = this;
    this.storedBytes = 0;
    if (stored.length > keptBytes) this.stored = noBytes;
    receive(stored, 0, storedBytes);
  }

  private store(chunk: Buffer, start: number, end: number): void {
    const after = this.storedBytes + end - start;
    this.reserve(after);
    chunk.copy(this.stored, this.storedBytes, start, end);
    this.storedBytes = after;
  }

  private reserve(bytes: number): void {
    if (bytes <= this.stored.length) return;
    const longer = Buffer.allocUnsafeSlow(Math.max(firstBytes, bytes));
    this.stored.copy(longer, 0, 0, this.storedBytes);
    this.stored = longer;
  }
}

/** Returns the offset after the last whole frame. */
function passWhole(bytes: Buffer, from: number, receive: ReceiveFrame): number {
  let start = from;
  for (let end = endOf(bytes, start); end <= bytes.length; end = endOf(bytes, start)) {
    receive(bytes, start, end);
    start = end;
  }
  return start;
}

/** Infinity while the length of the frame is unknown. */
function endOf(bytes: Buffer, start: number): number {
  if (bytes.length - start < lengthBytes) return Infinity;
  const length = readU32(bytes, start);
  if (length > peerFrameBytesMax)
    throw new Error(`a frame of ${length} bytes; at most ${peerFrameBytesMax} are allowed`);
  return start + lengthBytes + length;
}
