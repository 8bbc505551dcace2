// Copies of values whose writes are in flight: a write may be repeated after the memory of the archive's block was freed. Several copies
// share a buffer, and buffers are reused, so that memory stays bounded even while one slow write keeps its buffer in use.
import { freeBuffer } from '#base/free-buffer.ts';

/** Holds the values of several writes. */
export interface ValueBuffer {
  readonly bytes: Buffer;
  end: number;
  /** Writes in flight. */
  writes: number;
}

export class SentValues {
  /** Memory that writes in flight keep. */
  heldBytes = 0;
  private readonly bufferBytes: number;
  private readonly spare: ValueBuffer[] = [];
  private current: ValueBuffer;

  constructor(bufferBytes: number) {
    this.bufferBytes = bufferBytes;
    this.current = newBuffer(bufferBytes);
  }

  /** The copy is at the end of the returned buffer. */
  add(value: Uint8Array): ValueBuffer {
    const buffer = this.bufferFor(value.length);
    if (buffer.writes++ === 0) this.heldBytes += buffer.bytes.length;
    buffer.bytes.set(value, buffer.end);
    buffer.end += value.length;
    return buffer;
  }

  /** Call once for each write that has ended. */
  release(buffer: ValueBuffer): void {
    if (--buffer.writes > 0) return;
    this.heldBytes -= buffer.bytes.length;
    buffer.end = 0;
    if (buffer.bytes.length > this.bufferBytes) freeBuffer(buffer.bytes);
    else if (buffer !== this.current) this.spare.push(buffer);
  }

  private bufferFor(bytes: number): ValueBuffer {
    if (bytes > this.bufferBytes) return newBuffer(bytes);
    if (this.current.end + bytes <= this.bufferBytes) return this.current;
    // A buffer without writes in flight is empty.
    this.current = this.spare.pop() ?? newBuffer(this.bufferBytes);
    return this.current;
  }
}

const newBuffer = (size: number): ValueBuffer => ({ bytes: Buffer.allocUnsafeSlow(size), end: 0, writes: 0 });
