// The disk engine in the caller's own thread: for tests, and for tools that may block on the disk.
import { realClock } from '#ports/clock.ts';
import type { DiskEngine } from '../../data/disk-engine.ts';
import type { Lane, LaneArguments, LaneOperation, LaneResult } from '../lane.ts';
import { LaneEngine } from '../lane-engine.ts';
import { SqliteLane } from './sqlite-lane.ts';

export function sqliteEngine(): DiskEngine {
  return new LaneEngine(() => localLane(new SqliteLane(realClock)), realClock);
}

function localLane(lane: SqliteLane): Lane {
  return {
    hasEnded: false,
    async call<K extends LaneOperation>(operation: K, ...args: LaneArguments<K>): Promise<LaneResult<K>> {
      const act = lane[operation] as (...args: LaneArguments<K>) => LaneResult<K>;
      const result = act.apply(lane, args);
      while (lane.checkpoint()) {
        // Each call does the checkpoint of one file.
      }
      // Between the pages that a compaction copies other calls run, as they do with a worker.
      if (operation === 'copyPage') await new Promise(setImmediate);
      return result;
    },
    stop: async () => lane.stop(),
  };
}
