// Statistics of one vbucket, for administrators.
import type { VbucketColumns } from './columns.ts';

export interface VbucketFigures {
  items: number;
  tombstones: number;
  nonResident: number;
  /** Changes that are not on disk yet. */
  dirtyItems: number;
  dirtyBytes: number;
  /** Tombstones up to this seqno may have been purged. */
  purgeSeqno: number;
  /** The highest CAS of any change. */
  maxCas: bigint;
  /** The highest revision of a deleted document: a new document gets a higher one. */
  maxDeletedRev: number;
}

export function figuresOf(columns: VbucketColumns, vb: number): VbucketFigures {
  const of = (column: Uint32Array | Float64Array): number => column[vb] ?? 0;
  return {
    items: of(columns.items),
    tombstones: of(columns.tombstones),
    nonResident: of(columns.nonResidentValues) + of(columns.nonResidentItems),
    dirtyItems: of(columns.dirtyCount),
    dirtyBytes: of(columns.dirtyBytes),
    purgeSeqno: of(columns.purgeSeqno),
    maxCas: (BigInt(of(columns.casHi)) << 32n) | BigInt(of(columns.casLo)),
    maxDeletedRev: of(columns.maxDeletedRev),
  };
}
