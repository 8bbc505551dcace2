// A lane is where a share of the data files is served: a worker thread, or the caller's own.
import type { SqliteLane } from './adapters/sqlite-lane.ts';

export type LaneOperation =
  | 'prepare'
  | 'renew'
  | 'open'
  | 'commit'
  | 'loadPage'
  | 'backfillPage'
  | 'fetchItems'
  | 'expiredKeys'
  | 'collectionKeys'
  | 'largeItems'
  | 'closeReaders'
  | 'sizes'
  | 'fileBytes'
  | 'planCopy'
  | 'beginCopy'
  | 'copyPage'
  | 'handOverCopy'
  | 'abandonCopy'
  | 'removeCopy'
  | 'switchFile'
  | 'close'
  | 'remove'
  | 'stop';
export type LaneArguments<K extends LaneOperation> = Parameters<SqliteLane[K]>;
export type LaneResult<K extends LaneOperation> = ReturnType<SqliteLane[K]>;

/** Calls to one lane are served in the order they were made. */
export interface Lane {
  call<K extends LaneOperation>(operation: K, ...args: LaneArguments<K>): Promise<LaneResult<K>>;
  /** Ends the lane after the calls made before. */
  stop(): Promise<void>;
}
