// Finds whole frames in the bytes of a connection.
import { readU32 } from '#wire/bytes.ts';
import { lengthBytes, peerFrameBytesMax } from './frames.ts';

export class FrameSplitter {
  /** The beginning of a frame, as it arrived. */
  private pieces: Buffer[] = [];
  private storedBytes = 0;

  /**
   * Calls `take` with each whole frame.
   * @throws Error when a frame is too large.
   */
  push(chunk: Buffer, take: (frame: Buffer) => void): void {
    this.pieces.push(chunk);
    this.storedBytes += chunk.length;
    if (!this.hasFrame()) return;
    const [first = chunk] = this.pieces;
    const bytes = this.pieces.length === 1 ? first : Buffer.concat(this.pieces);
    let start = 0;
    for (let end = endOf(bytes, start); end <= bytes.length; end = endOf(bytes, start)) {
      const frame = bytes.subarray(start, end);
      start = end;
      take(frame);
    }
    this.pieces = start === bytes.length ? [] : [bytes.subarray(start)];
    this.storedBytes = bytes.length - start;
  }

  private hasFrame(): boolean {
    if (this.storedBytes < lengthBytes) return false;
    let [first] = this.pieces as [Buffer];
    if (first.length < lengthBytes) this.pieces = [(first = Buffer.concat(this.pieces))];
    return endOf(first, 0) <= this.storedBytes;
  }
}

/** Infinity while the length of the frame is unknown. */
function endOf(bytes: Buffer, start: number): number {
  if (bytes.length - start < lengthBytes) return Infinity;
  const length = readU32(bytes, start);
  if (length > peerFrameBytesMax)
    throw new Error(`a frame of ${length} bytes; at most ${peerFrameBytesMax} are allowed`);
  return start + lengthBytes + length;
}
