// Statistics of one vbucket, for administrators.
import type { VbucketRows } from './rows.ts';

export interface VbucketFigures {
  items: number;
  tombstones: number;
  nonResident: number;
  /** Dirty items, not on disk yet. */
  dirtyItems: number;
  dirtyBytes: number;
  /** Tombstones up to this seqno may have been purged. */
  purgeSeqno: number;
  /** The highest CAS of any change. */
  maxCas: bigint;
  maxDeletedRev: number;
}

export function figuresOf(rows: VbucketRows, vb: number): VbucketFigures {
  const of = (column: Uint32Array | Float64Array): number => column[vb] ?? 0;
  return {
    items: of(rows.items),
    tombstones: of(rows.tombstones),
    nonResident: of(rows.nonResidentValues) + of(rows.nonResidentItems),
    dirtyItems: of(rows.dirtyCount),
    dirtyBytes: of(rows.dirtyBytes),
    purgeSeqno: of(rows.purgeSeqno),
    maxCas: (BigInt(of(rows.casHi)) << 32n) | BigInt(of(rows.casLo)),
    maxDeletedRev: of(rows.maxDeletedRev),
  };
}
