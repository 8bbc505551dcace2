// A scan of the first ten rows of an index that waits for no writes; tests pass what differs.
import type { IndexScan } from '../../src/sqlpp/datastore/indexes.ts';

export const aScan = (more: Pick<IndexScan, 'index'> & Partial<IndexScan>): IndexScan => ({
  spans: [],
  keys: [],
  isReverse: false,
  isDistinct: false,
  offset: 0,
  limit: 10,
  consistency: { kind: 'not_bounded' },
  waitMs: 0,
  signal: new AbortController().signal,
  ...more,
});
