// What the index service and its neighbours say to each other: plain data. The cluster manager keeps the definitions and tells the
// service the whole wanted state; the service reports what became of it.
import type { IndexDefinition, IndexState } from '#sqlpp/datastore/indexes.ts';

export type { IndexDefinition, IndexKey, IndexState } from '#sqlpp/datastore/indexes.ts';

/** A definition and what is wanted of it. */
export interface WantedIndex {
  readonly definition: IndexDefinition;
  /** False: it waits for BUILD INDEX. */
  readonly isBuilt: boolean;
}

export interface WantedIndexes {
  readonly indexes: readonly WantedIndex[];
  /** `indexMemoryQuota`: page caches and build buffers. */
  readonly memoryQuotaBytes: number;
}

export interface IndexReport {
  readonly id: string;
  readonly state: IndexState;
  /** 0 to 100. */
  readonly progress: number;
  readonly message?: string;
  readonly documentsTaken: number;
  readonly documentsWaiting: number;
  /** Documents with keys above a limit. */
  readonly leftOut: number;
  readonly fileBytes: number;
  /** Of an `IndexProgress`; none while nothing is built. */
  readonly shared?: SharedArrayBuffer;
}
