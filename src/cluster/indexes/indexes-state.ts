// Key `indexes/<bucket uuid>`: the definitions of a bucket's indexes.
import type { IndexDefinition } from '#index/index.contract.ts';

export const indexesPrefix = 'indexes/';
export const indexesKey = (bucketUuid: string): string => `${indexesPrefix}${bucketUuid}`;

export interface StoredIndex {
  definition: IndexDefinition;
  /** False: waits for BUILD INDEX. */
  isBuilt: boolean;
}

export interface IndexesState {
  byId: Record<string, StoredIndex>;
}

export const noIndexes: IndexesState = { byId: {} };
