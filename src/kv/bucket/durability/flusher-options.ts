// What a bucket's flusher works with, and which of its work is delayed so that writes that clients wait for come first.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { DiskEngine } from '../../data/disk-engine.ts';
import type { VbucketColumns } from '../../vbucket/columns.ts';
import type { Cutter } from '../../vbucket/cutter.ts';
import type { Timings } from '../timings.ts';
import type { VbucketProgress } from './progress.ts';

/** True: this work is delayed, for a short time. */
export interface DelayedDiskWork {
  /** Writes of changes that no client waits for. */
  readonly flushes: boolean;
  readonly checkpoints: boolean;
}

export interface FlusherOptions {
  disk: DiskEngine;
  bucketUuid: string;
  fileCount: number;
  columns: VbucketColumns;
  cutter: Cutter;
  clock: Clock;
  log: Log;
  timings: Timings;
  priority: 'low' | 'high';
  /** Bytes that can be allocated before anything must be evicted. */
  roomBytes: () => number;
  /** Gets the seqnos of each commit. */
  progress: Pick<VbucketProgress, 'advance' | 'isReceivedByOthers'>;
  onFailure: (file: number, reason: string) => void;
  /** Called with a reason when the disk is full, and with null when it has space again. */
  onFull: (reason: string | null) => void;
}
