// A lane serves a share of the data files: in a worker thread, or in the caller's own.
import type { SqliteLane } from './adapters/sqlite-lane.ts';

export type LaneOperation =
  | 'prepare'
  | 'renew'
  | 'open'
  | 'commit'
  | 'delayCheckpoints'
  | 'writeLogged'
  | 'releaseLog'
  | 'drop'
  | 'rollBack'
  | 'loadPage'
  | 'backfillPages'
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
  | 'suspendCopy'
  | 'abandonCopy'
  | 'removeCopy'
  | 'switchFile'
  | 'close'
  | 'remove'
  | 'stop';
export type LaneArguments<K extends LaneOperation> = Parameters<SqliteLane[K]>;
export type LaneResult<K extends LaneOperation> = ReturnType<SqliteLane[K]>;

/** Calls to one lane are served in the order in which they were made. */
export interface Lane {
  /** True once the lane's thread has ended by itself: all calls fail. */
  readonly hasEnded: boolean;
  call<K extends LaneOperation>(operation: K, ...args: LaneArguments<K>): Promise<LaneResult<K>>;
  /** Ends the lane after all earlier calls. */
  stop(): Promise<void>;
}
