// The position of an index in each vbucket, in typed arrays, because every change updates them.
import type { StreamPosition } from '#client/change-connection.ts';
import { vbucketCount } from '#client/document-key.ts';
import type { VbPosition } from '../store/index-store.ts';

export class VbPositions {
  readonly seqno = new Float64Array(vbucketCount);
  /** The end of the last complete snapshot. */
  readonly complete = new Float64Array(vbucketCount);
  readonly uuid = new BigUint64Array(vbucketCount);
  private readonly snapshotStart = new Float64Array(vbucketCount);
  private readonly snapshotEnd = new Float64Array(vbucketCount);

  constructor(stored: readonly VbPosition[]) {
    for (const { vb, uuid, seqno, snapshotStart, snapshotEnd, completeSeqno } of stored) {
      this.uuid[vb] = uuid;
      this.seqno[vb] = seqno;
      this.snapshotStart[vb] = snapshotStart;
      this.snapshotEnd[vb] = snapshotEnd;
      this.complete[vb] = completeSeqno;
    }
  }

  /** Ignores a snapshot that ends before the position. */
  beginSnapshot(vb: number, start: number, end: number): void {
    if (end <= numberAt(this.seqno, vb)) return;
    this.snapshotStart[vb] = start;
    this.snapshotEnd[vb] = end;
  }

  /** Returns false if the index has this change already. */
  advance(vb: number, seqno: number): boolean {
    if (seqno <= numberAt(this.seqno, vb)) return false;
    this.seqno[vb] = seqno;
    if (seqno >= numberAt(this.snapshotEnd, vb)) this.complete[vb] = seqno;
    return true;
  }

  clear(vb: number): void {
    this.seqno[vb] = 0;
    this.snapshotStart[vb] = 0;
    this.snapshotEnd[vb] = 0;
    this.complete[vb] = 0;
    this.uuid[vb] = 0n;
  }

  stored(vb: number): VbPosition {
    return {
      vb,
      uuid: this.uuid[vb] as bigint,
      seqno: numberAt(this.seqno, vb),
      snapshotStart: numberAt(this.snapshotStart, vb),
      snapshotEnd: numberAt(this.snapshotEnd, vb),
      completeSeqno: numberAt(this.complete, vb),
    };
  }

  /** The position from which to request the stream. */
  stream(vb: number): StreamPosition {
    const seqno = numberAt(this.seqno, vb);
    const isBetweenSnapshots = numberAt(this.complete, vb) === seqno;
    return {
      uuid: this.uuid[vb] as bigint,
      seqno,
      snapshotStart: isBetweenSnapshots ? seqno : Math.min(numberAt(this.snapshotStart, vb), seqno),
      snapshotEnd: isBetweenSnapshots ? seqno : numberAt(this.snapshotEnd, vb),
    };
  }
}

export const numberAt = (values: Float64Array, vb: number): number => values[vb] as number;
