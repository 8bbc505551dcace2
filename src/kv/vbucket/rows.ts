// The state of every vbucket of a bucket: one row each in typed arrays over shared memory, and nowhere else.
import { Status } from '#wire/status.ts';

const floats = (count: number): Float64Array => new Float64Array(new SharedArrayBuffer(8 * count));
const words = (count: number): Uint32Array => new Uint32Array(new SharedArrayBuffer(4 * count));

export class VbucketRows {
  readonly count: number;
  /** 0 when the vbucket is served as active, else the status that answers every operation on it. */
  readonly refusal: Uint8Array;
  readonly highSeqno: Float64Array;
  /** End seqno of the last cut. */
  readonly cutSeqno: Float64Array;
  readonly persistedSeqno: Float64Array;
  readonly purgeSeqno: Float64Array;
  readonly maxDeletedRev: Float64Array;
  /** Highest CAS ever given out. */
  readonly casHi: Uint32Array;
  readonly casLo: Uint32Array;
  readonly items: Uint32Array;
  readonly tombstones: Uint32Array;
  /** Items in memory whose value is on disk only; live items wholly on disk. */
  readonly valuesAway: Uint32Array;
  readonly itemsAway: Uint32Array;
  /** Raised with each item evicted wholly. */
  readonly departures: Uint32Array;
  /** Items that no cut holds yet, linked through their headers in the order of their seqnos. */
  readonly dirtyHead: Uint32Array;
  readonly dirtyTail: Uint32Array;
  readonly dirtyCount: Uint32Array;
  readonly dirtyBytes: Float64Array;
  /** Oldest seqno whose version was replaced while dirty, and the seqno of the newest version that replaced one. */
  readonly dedupeFloor: Float64Array;
  readonly dedupeCeiling: Float64Array;

  constructor(count: number) {
    this.count = count;
    this.refusal = new Uint8Array(new SharedArrayBuffer(count)).fill(Status.temporaryFailure);
    this.highSeqno = floats(count);
    this.cutSeqno = floats(count);
    this.persistedSeqno = floats(count);
    this.purgeSeqno = floats(count);
    this.maxDeletedRev = floats(count);
    this.casHi = words(count);
    this.casLo = words(count);
    this.items = words(count);
    this.tombstones = words(count);
    this.valuesAway = words(count);
    this.itemsAway = words(count);
    this.departures = words(count);
    this.dirtyHead = words(count);
    this.dirtyTail = words(count);
    this.dirtyCount = words(count);
    this.dirtyBytes = floats(count);
    this.dedupeFloor = floats(count);
    this.dedupeCeiling = floats(count);
  }

  /** Resets all rows to the state of an empty bucket, except the CAS clock. */
  clear(row: number): void {
    for (const column of [
      this.highSeqno,
      this.cutSeqno,
      this.persistedSeqno,
      this.purgeSeqno,
      this.maxDeletedRev,
      this.items,
      this.tombstones,
      this.valuesAway,
      this.itemsAway,
      this.dirtyHead,
      this.dirtyTail,
      this.dirtyCount,
      this.dirtyBytes,
      this.dedupeFloor,
      this.dedupeCeiling,
    ]) {
      column[row] = 0;
    }
  }
}
