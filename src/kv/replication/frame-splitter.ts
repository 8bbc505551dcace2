// Finds whole frames in the bytes of a connection, without copying those that arrived in one piece. The caller may reuse the memory of what it
// pushed; a frame is valid while it is taken.
import { readU32 } from '#wire/bytes.ts';
import { lengthBytes, peerFrameBytesMax } from './frames.ts';

/** A frame is `bytes` from `start` to `end`. */
export type TakeFrame = (bytes: Buffer, start: number, end: number) => void;

export class FrameSplitter {
  /** The beginning of a frame, in copies of what arrived. */
  private pieces: Buffer[] = [];
  private storedBytes = 0;

  /**
   * Calls `take` with each whole frame.
   * @throws Error when a frame is too large.
   */
  push(chunk: Buffer, take: TakeFrame): void {
    const start = this.storedBytes === 0 ? 0 : this.complete(chunk, take);
    if (start < 0) return;
    const left = takeWhole(chunk, start, take);
    if (left < chunk.length) this.store(chunk.subarray(left));
  }

  /** Takes the frame whose beginning is stored. Returns the offset after it in the chunk; -1: the frame is still not whole. */
  private complete(chunk: Buffer, take: TakeFrame): number {
    const stored = this.storedBytes;
    const missing = this.missingBytes(chunk);
    if (missing > chunk.length) {
      this.store(chunk);
      return -1;
    }
    const frame = Buffer.concat([...this.pieces, chunk.subarray(0, missing)]);
    this.pieces = [];
    this.storedBytes = 0;
    take(frame, 0, stored + missing);
    return missing;
  }

  /** Bytes of the chunk that belong to the stored frame; Infinity while its length is unknown. */
  private missingBytes(chunk: Buffer): number {
    const { storedBytes } = this;
    const [first] = this.pieces as [Buffer];
    const head = first.length >= lengthBytes ? first : Buffer.concat([first, chunk.subarray(0, lengthBytes)]);
    return endOf(head, 0) - storedBytes;
  }

  /** While the length is unknown everything is one piece, in which `missingBytes` finds it without copying what follows. */
  private store(piece: Buffer): void {
    if (this.storedBytes < lengthBytes) this.pieces = [Buffer.concat([...this.pieces, piece])];
    else this.pieces.push(Buffer.from(piece));
    this.storedBytes += piece.length;
  }
}

/** Returns the offset after the last whole frame. */
function takeWhole(bytes: Buffer, from: number, take: TakeFrame): number {
  let start = from;
  for (let end = endOf(bytes, start); end <= bytes.length; end = endOf(bytes, start)) {
    take(bytes, start, end);
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
