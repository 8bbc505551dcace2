// Messages between a disk worker and its client.
import type { CutBuffer, DamagedFile } from '../../data/disk-engine.ts';
import type { LaneOperation } from '../lane.ts';

export interface LaneSettings {
  /** Runs at low priority. */
  isLowPriority: boolean;
}

export interface LaneRequest {
  id: number;
  operation: LaneOperation;
  args: unknown[];
}

export type LaneReply = { id: number; result: unknown } | { id: number; failure: LaneFailure };

export interface LaneFailure {
  message: string;
  /** Set when the error is a DamagedFileError. */
  damage: DamagedFile | null;
  /** Set when the error is a DiskFullError: its cuts, which are returned. */
  cuts: CutBuffer | null;
}
