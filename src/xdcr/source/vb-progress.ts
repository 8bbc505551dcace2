// How far one vbucket is replicated. Versions are acknowledged in any order; the position is the last seqno up to which all are.
import type { StreamPosition } from '#client/change-connection.ts';

export interface PendingChange {
  readonly seqno: number;
  readonly snapshotStart: number;
  readonly snapshotEnd: number;
  isDone: boolean;
}

export class VbProgress {
  /** The uuid of the vbucket's history. */
  uuid = 0n;
  /** The last seqno up to which all versions are acknowledged, and the snapshot that it belongs to. */
  seqno = 0;
  private snapshotStart = 0;
  private snapshotEnd = 0;
  /** The snapshot that is being received. */
  private currentStart = 0;
  private currentEnd = 0;
  /** The highest seqno that the stream has delivered. */
  private received = 0;
  private readonly pending: PendingChange[] = [];
  /** Index in `pending` of the first change that is not done. */
  private head = 0;

  beginSnapshot(start: number, end: number): void {
    this.currentStart = start;
    this.currentEnd = end;
  }

  /** A version that must be acknowledged. */
  add(seqno: number): PendingChange {
    const change = {
      seqno,
      snapshotStart: this.currentStart,
      snapshotEnd: this.currentEnd,
      isDone: false,
    };
    this.received = Math.max(this.received, seqno);
    this.pending.push(change);
    return change;
  }

  /** All changes up to this seqno need no acknowledgement, except those that were added. */
  pass(seqno: number): void {
    this.received = Math.max(this.received, seqno);
    this.advance();
  }

  done(change: PendingChange): void {
    change.isDone = true;
    this.advance();
  }

  position(): StreamPosition {
    const { uuid, seqno } = this;
    const isWhole = seqno >= this.snapshotEnd;
    return {
      uuid,
      seqno,
      snapshotStart: isWhole ? seqno : Math.min(this.snapshotStart, seqno),
      snapshotEnd: isWhole ? seqno : this.snapshotEnd,
    };
  }

  /** Discards the pending changes: the stream starts again at this position. */
  reset({ uuid, seqno, snapshotStart, snapshotEnd }: StreamPosition): void {
    this.uuid = uuid;
    this.seqno = seqno;
    this.received = seqno;
    this.snapshotStart = snapshotStart;
    this.snapshotEnd = snapshotEnd;
    this.currentStart = snapshotStart;
    this.currentEnd = snapshotEnd;
    this.pending.length = 0;
    this.head = 0;
  }

  private advance(): void {
    const { pending } = this;
    while (this.head < pending.length) {
      const change = pending[this.head] as PendingChange;
      if (!change.isDone) break;
      this.head++;
      this.moveTo(change.seqno, change.snapshotStart, change.snapshotEnd);
    }
    if (this.head === pending.length) {
      pending.length = 0;
      this.head = 0;
      this.moveTo(this.received, this.currentStart, this.currentEnd);
    } else if (this.head >= compactAt) {
      pending.splice(0, this.head);
      this.head = 0;
    }
  }

  private moveTo(seqno: number, start: number, end: number): void {
    if (seqno <= this.seqno) return;
    this.seqno = seqno;
    this.snapshotStart = start;
    this.snapshotEnd = end;
  }
}

/** After this many changes that are done, the list of pending changes is shortened. */
const compactAt = 256;

export const fromStart: StreamPosition = { uuid: 0n, seqno: 0, snapshotStart: 0, snapshotEnd: 0 };
