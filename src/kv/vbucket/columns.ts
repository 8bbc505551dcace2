// The state of every vbucket of a bucket, as columns: one typed array for each field, whose index is the number of the vbucket. Memory has no
// other copy of it. Other threads read only the columns that say which vbuckets they may read.
import { VbucketState } from '../data/vbucket-state.ts';

const float64s = (count: number): Float64Array => new Float64Array(count);
const uint32s = (count: number): Uint32Array => new Uint32Array(count);
const sharedBuffer = (bytes: number): SharedArrayBuffer => new SharedArrayBuffer(bytes);

export class VbucketColumns {
  readonly count: number;
  /** A VbucketState. */
  readonly state: Uint8Array;
  /** Raised each time that another copy of the shard becomes active. */
  readonly epoch: Float64Array;
  /**
   * Monotonic time until which the vbucket is served: 0 while its documents are not loaded, Infinity where no other node can
   * become active instead of this one.
   */
  readonly servedUntilMs: Float64Array;
  /** 1 while the active hands the vbucket over to another node: it makes no more seqnos. */
  readonly isHandingOver: Uint8Array;
  /** 1 for a copy that is not in sync: it may lack acknowledged changes, or have some that a failover took back. */
  readonly isOutOfSync: Uint8Array;
  /** A CopyPhase. */
  readonly copy: Uint8Array;
  /** The snapshot that a copy is receiving; it is complete where its end is not above the high seqno. */
  readonly snapStart: Float64Array;
  readonly snapEnd: Float64Array;
  readonly highSeqno: Float64Array;
  /** The end seqno of the last cut, and the seqno up to which the snapshots in that cut are whole. */
  readonly cutSeqno: Float64Array;
  readonly cutWholeSeqno: Float64Array;
  readonly persistedSeqno: Float64Array;
  readonly purgeSeqno: Float64Array;
  /** Highest revision of a deleted document: a new document gets a higher one. */
  readonly maxDeletedRev: Float64Array;
  /** Highest CAS of any change. */
  readonly casHi: Uint32Array;
  readonly casLo: Uint32Array;
  readonly items: Uint32Array;
  readonly tombstones: Uint32Array;
  /** Items in memory whose value is on disk only; live items wholly on disk. */
  readonly nonResidentValues: Uint32Array;
  readonly nonResidentItems: Uint32Array;
  /** Counts the items that were evicted with key and metadata, not only their values. */
  readonly wholeEvictions: Uint32Array;
  /**
   * The highest seqno of a version that memory does not have and that `nonResidentItems` does not count: of a tombstone, of a system event
   * from before the start, or of an item that was discarded.
   */
  readonly uncountedSeqno: Float64Array;
  /** Counts how often the vbucket was emptied or rolled back: from then on its seqnos stand for other changes. */
  readonly clears: Uint32Array;
  /** Items that no cut holds yet, linked through their headers in the order of their seqnos. */
  readonly dirtyHead: Uint32Array;
  readonly dirtyTail: Uint32Array;
  readonly dirtyCount: Uint32Array;
  readonly dirtyBytes: Float64Array;
  /** The lowest seqno of a dirty version that was replaced, and the highest seqno of a version that replaced one: a cut may not end between them. */
  readonly dedupeFloor: Float64Array;
  readonly dedupeCeiling: Float64Array;

  constructor(count: number) {
    this.count = count;
    this.state = new Uint8Array(sharedBuffer(count)).fill(VbucketState.active);
    this.epoch = float64s(count);
    this.servedUntilMs = new Float64Array(sharedBuffer(8 * count));
    this.isHandingOver = new Uint8Array(count);
    this.isOutOfSync = new Uint8Array(count);
    this.copy = new Uint8Array(count);
    this.snapStart = float64s(count);
    this.snapEnd = float64s(count);
    this.highSeqno = float64s(count);
    this.cutSeqno = float64s(count);
    this.cutWholeSeqno = float64s(count);
    this.persistedSeqno = float64s(count);
    this.purgeSeqno = float64s(count);
    this.maxDeletedRev = float64s(count);
    this.casHi = uint32s(count);
    this.casLo = uint32s(count);
    this.items = uint32s(count);
    this.tombstones = uint32s(count);
    this.nonResidentValues = uint32s(count);
    this.nonResidentItems = uint32s(count);
    this.wholeEvictions = uint32s(count);
    this.uncountedSeqno = float64s(count);
    this.clears = uint32s(count);
    this.dirtyHead = uint32s(count);
    this.dirtyTail = uint32s(count);
    this.dirtyCount = uint32s(count);
    this.dirtyBytes = float64s(count);
    this.dedupeFloor = float64s(count);
    this.dedupeCeiling = float64s(count);
  }

  /** See `uncountedSeqno`. */
  noteUncounted(vb: number, seqno: number): void {
    this.uncountedSeqno[vb] = Math.max(this.uncountedSeqno[vb] as number, seqno);
  }

  /**
   * Subtracts one from the count of tombstones, if it is not 0: a purge does not know which of the tombstones on disk were counted, so that one that is
   * read from disk later may be missing in the count.
   */
  uncountTombstone(vb: number): void {
    const count = this.tombstones[vb] as number;
    if (count > 0) this.tombstones[vb] = count - 1;
  }

  /**
   * Resets what depends on the documents of a vbucket; keeps its state, its epoch, whether it is served and in sync, its CAS clock, and
   * counters that only grow.
   */
  clear(vb: number): void {
    for (const column of [
      this.copy,
      this.snapStart,
      this.snapEnd,
      this.highSeqno,
      this.cutSeqno,
      this.cutWholeSeqno,
      this.persistedSeqno,
      this.purgeSeqno,
      this.maxDeletedRev,
      this.items,
      this.tombstones,
      this.nonResidentValues,
      this.nonResidentItems,
      this.uncountedSeqno,
      this.dirtyHead,
      this.dirtyTail,
      this.dirtyCount,
      this.dirtyBytes,
      this.dedupeFloor,
      this.dedupeCeiling,
    ]) {
      column[vb] = 0;
    }
    (this.clears[vb] as number) += 1;
  }
}
