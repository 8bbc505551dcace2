// Counts operations of clients on documents.

/** Operations of clients on the documents of a bucket or a collection. Writes are counted when they succeed. */
export interface DocumentCounts {
  gets: number;
  getHits: number;
  /** Writes of values, including sub-document mutations and appends. */
  sets: number;
  deletes: number;
  deleteMisses: number;
  increments: number;
  incrementMisses: number;
  decrements: number;
  decrementMisses: number;
  /** Writes of values with a CAS that the document had; these are in `sets` too. */
  casHits: number;
  /** Writes of values with a CAS that found no document. */
  casMisses: number;
  /** Writes of values with a CAS that found another one. */
  casBadValues: number;
  /** Requests refused because the document is locked. */
  lockErrors: number;
  /** Reads and writes of cross-cluster replication; `metaRejects` are versions that lost conflict resolution. */
  metaGets: number;
  metaSets: number;
  metaDeletes: number;
  metaRejects: number;
}

export const noCounts = (): DocumentCounts => ({
  gets: 0,
  getHits: 0,
  sets: 0,
  deletes: 0,
  deleteMisses: 0,
  increments: 0,
  incrementMisses: 0,
  decrements: 0,
  decrementMisses: 0,
  casHits: 0,
  casMisses: 0,
  casBadValues: 0,
  lockErrors: 0,
  metaGets: 0,
  metaSets: 0,
  metaDeletes: 0,
  metaRejects: 0,
});

export function addCounts(to: DocumentCounts, from: DocumentCounts): void {
  for (const name of Object.keys(from) as (keyof DocumentCounts)[]) to[name] += from[name];
}

/** All operations on documents but refused ones; `getHits` and `casHits` are not added, since `gets` and `sets` contain them. */
export const operationsOf = (counts: DocumentCounts): number =>
  counts.gets +
  counts.sets +
  counts.deletes +
  counts.deleteMisses +
  counts.increments +
  counts.incrementMisses +
  counts.decrements +
  counts.decrementMisses +
  counts.metaGets +
  counts.metaSets +
  counts.metaDeletes;
