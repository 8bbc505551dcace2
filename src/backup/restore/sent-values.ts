// Copies of values whose writes are in flight: a write may be repeated after the block of the archive has been given back. Copies are
// together in pieces of memory that are used again, so that they have a bound even where one slow write keeps its piece.
import { freeBuffer } from '#base/free-buffer.ts';

/** Memory for the values of some writes. */
export interface SentPiece {
  readonly bytes: Buffer;
  end: number;
  /** Writes in flight. */
  writes: number;
}

export class SentValues {
  /** Memory that writes in flight keep. */
  heldBytes = 0;
  private readonly pieceBytes: number;
  private readonly spare: SentPiece[] = [];
  private current: SentPiece;

  constructor(pieceBytes: number) {
    this.pieceBytes = pieceBytes;
    this.current = newPiece(pieceBytes);
  }

  /** The copy is at the end of the piece. */
  add(value: Uint8Array): SentPiece {
    const piece = this.pieceFor(value.length);
    if (piece.writes++ === 0) this.heldBytes += piece.bytes.length;
    piece.bytes.set(value, piece.end);
    piece.end += value.length;
    return piece;
  }

  /** Call once for each write that has ended. */
  release(piece: SentPiece): void {
    if (--piece.writes > 0) return;
    this.heldBytes -= piece.bytes.length;
    piece.end = 0;
    if (piece.bytes.length > this.pieceBytes) freeBuffer(piece.bytes);
    else if (piece !== this.current) this.spare.push(piece);
  }

  private pieceFor(bytes: number): SentPiece {
    if (bytes > this.pieceBytes) return newPiece(bytes);
    if (this.current.end + bytes <= this.pieceBytes) return this.current;
    // A piece without writes in flight has room.
    this.current = this.spare.pop() ?? newPiece(this.pieceBytes);
    return this.current;
  }
}

const newPiece = (size: number): SentPiece => ({ bytes: Buffer.allocUnsafeSlow(size), end: 0, writes: 0 });
