// Finds whole frames in the bytes of a connection.
import { readU32 } from '#wire/bytes.ts';
import { lengthBytes, peerFrameBytesMax } from './frames.ts';

export class FrameSplitter {
  /** The beginning of a frame, as it arrived. */
  private pieces: Buffer[] = [];
  private bytes = 0;

  /**
   * Calls `take` with each whole frame.
   * @throws Error when a frame is too large.
   */
  push(chunk: Buffer, take: (frame: Buffer) => void): void {
    this.pieces.push(chunk);
    this.bytes += chunk.length;
    if (!this.hasFrame()) return;
    const [first = chunk] = this.pieces;
    const all = this.pieces.length === 1 ? first : Buffer.concat(this.pieces);
    let at = 0;
    for (let end = endOf(all, at); end <= all.length; end = endOf(all, at)) {
      const frame = all.subarray(at, end);
      at = end;
      take(frame);
    }
    this.pieces = at === all.length ? [] : [all.subarray(at)];
    this.bytes = all.length - at;
  }

  private hasFrame(): boolean {
    if (this.bytes < lengthBytes) return false;
    let [first] = this.pieces as [Buffer];
    if (first.length < lengthBytes) this.pieces = [(first = Buffer.concat(this.pieces))];
    return endOf(first, 0) <= this.bytes;
  }
}

/** Infinity while the length of the frame is unknown. */
function endOf(bytes: Buffer, at: number): number {
  if (bytes.length - at < lengthBytes) return Infinity;
  const length = readU32(bytes, at);
  if (length > peerFrameBytesMax)
    throw new Error(`a frame of ${length} bytes; at most ${peerFrameBytesMax} are taken`);
  return at + lengthBytes + length;
}
