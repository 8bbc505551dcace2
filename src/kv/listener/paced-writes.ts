// Writes to one socket in pieces that share the time of the turn with requests and other connections. The system may accept megabytes in
// one write, in milliseconds, and many sockets may be writable in one turn.
import type { TurnClock } from '../turn-clock.ts';

/** Bytes of one write. Nearly all outputs are one piece. */
export const pieceBytes = 512 * 1024;
/**
 * Output up to this size that the system has not accepted is copied, so that the caller can reuse its memory for the next output. The
 * stream of a TLS connection never accepts a write during the call.
 */
const copiedBytesMax = 32 * 1024;
/** Small outputs that wait are joined up to this size, because each write has a cost. */
const joinedBytesMax = 64 * 1024;
/** Minimal cost of a write, in bytes of work. */
const writeWork = 1024;

export interface PieceSocket {
  readonly isGone: boolean;
  /** Writes what the system accepts at once; returns how many bytes. */
  writeNow(bytes: Buffer, length: number): number;
  /** Writes as soon as the system accepts it, then calls `written`. */
  writeLater(bytes: Buffer, written: () => void): void;
}

export class PacedWrites {
  /** Called when the system has accepted everything, if it did not do so during `write`. */
  onDrained: () => void = () => {};
  private readonly socket: PieceSocket;
  private readonly turns: TurnClock;
  /** Waiting for a later turn, or for the system to accept a piece. */
  private isWaiting = false;
  private queue: Buffer[] = [];
  private queuedBytes = 0;
  /** The part of a piece that the system has not accepted. */
  private offeredBytes = 0;

  constructor(socket: PieceSocket, turns: TurnClock) {
    this.socket = socket;
    this.turns = turns;
  }

  get unsentBytes(): number {
    return this.queuedBytes + this.offeredBytes;
  }

  /** Writes the first `length` bytes; returns true if the caller may reuse their memory. */
  write(bytes: Buffer, length: number): boolean {
    if (this.isWaiting || length > pieceBytes) {
      const kept = keptOf(bytes.subarray(0, length));
      this.queue.push(kept.bytes);
      this.queuedBytes += length;
      const isAccepted = !this.isWaiting && this.writeQueue();
      return kept.isCopy || isAccepted;
    }
    const accepted = this.socket.writeNow(bytes, length);
    if (accepted === length) return true;
    const kept = keptOf(bytes.subarray(accepted, length));
    this.offer(kept.bytes);
    return kept.isCopy;
  }

  /** Returns whether the system has accepted everything. */
  private writeQueue(): boolean {
    const { queue, socket, turns } = this;
    while (queue.length > 0 && !socket.isGone) {
      if (turns.isOver) {
        this.isWaiting = true;
        turns.soon(() => this.proceed());
        return false;
      }
      const piece = this.takePiece();
      const accepted = socket.writeNow(piece, piece.length);
      turns.countWork(writeWork + piece.length);
      if (accepted < piece.length) {
        this.offer(piece.subarray(accepted));
        return false;
      }
    }
    this.queue = [];
    this.queuedBytes = 0;
    return true;
  }

  private takePiece(): Buffer {
    const first = this.queue[0] as Buffer;
    if (first.length > pieceBytes) this.queue[0] = first.subarray(pieceBytes);
    const piece = first.length > pieceBytes ? first.subarray(0, pieceBytes) : this.takeSmall();
    this.queuedBytes -= piece.length;
    return piece;
  }

  /** The first output, joined with the next ones as far as they are small. */
  private takeSmall(): Buffer {
    const { queue } = this;
    let count = 1;
    let bytes = (queue[0] as Buffer).length;
    while (count < queue.length && bytes + (queue[count] as Buffer).length <= joinedBytesMax)
      bytes += (queue[count++] as Buffer).length;
    const taken = queue.splice(0, count);
    return count === 1 ? (taken[0] as Buffer) : Buffer.concat(taken, bytes);
  }

  private offer(rest: Buffer): void {
    this.isWaiting = true;
    this.offeredBytes = rest.length;
    this.socket.writeLater(rest, () => {
      this.offeredBytes = 0;
      this.proceed();
    });
  }

  private proceed(): void {
    this.isWaiting = false;
    if (this.writeQueue() && !this.socket.isGone) this.onDrained();
  }
}

function keptOf(bytes: Buffer): { readonly bytes: Buffer; readonly isCopy: boolean } {
  const isCopy = bytes.length <= copiedBytesMax;
  return { bytes: isCopy ? Buffer.from(bytes) : bytes, isCopy };
}
