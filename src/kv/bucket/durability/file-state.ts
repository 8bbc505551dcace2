// What the flusher knows of one file of a bucket.
import type { Timer } from '#ports/clock.ts';
import { CutWriter } from '../../data/cut.ts';
import type { CutMemory } from '../../data/cut-memory.ts';
import { type CutBuffer, fileOf } from '../../data/disk-engine.ts';
import { firstBatchBytes } from './batch-size.ts';
import type { UrgentRelease } from './urgent-release.ts';

/** Encoded cuts, and the seqnos that are persisted with them. */
export interface CutBatch {
  /** While the disk thread writes the batch it reads these bytes, or has them: then this holds none. */
  cuts: CutBuffer;
  readonly byteLength: number;
  ends: { vb: number; seqno: number }[];
  /** A client waits for this batch. */
  isUrgent: boolean;
}

export interface FileState {
  readonly vbs: number[];
  readonly writer: CutWriter;
  /** The ends of the cuts in the writer. */
  ends: CutBatch['ends'];
  /** Vbucket at which the next batch begins, so that a busy vbucket does not starve others. */
  cursor: number;
  /** The size at which the next batch ends (batch-size.ts). */
  batchBytes: number;
  /** The delay before the next flush. */
  timer: Timer | null;
  /** How often the delay was repeated. */
  delays: number;
  /** Changes since the delay began. */
  changes: number;
  /** The load that was measured at the end of the last delay. */
  load: number;
  /** Whether the load that was measured then was high (`isUnderLoad`). */
  isLoaded: boolean;
  /** After a delay under load, or since a client waits: how many vbuckets are still to be written before the next delay. */
  unvisitedVbuckets: number;
  /**
   * All of those vbuckets are written although a handover is near: one may have the change that a client waits for, or their changes
   * have waited long enough.
   */
  writesRound: boolean;
  /** The next flush leaves the changes that other nodes have in memory, too, to a later flush: no client waits for them. */
  defersReplicated: boolean;
  /** Since when such changes wait; null: none was deferred. */
  deferredSinceMs: number | null;
  /** A client waits for changes that are not committed yet. */
  isUrgent: boolean;
  readonly urgentRelease: UrgentRelease;
  /** The running flush: it encodes batches and commits them until nothing is due. */
  running: Promise<void> | null;
  failure: string | null;
  /** Batches that are not on disk, in order: the first is being written, or found the disk full. */
  readonly batches: CutBatch[];
  /** Resolves when the writes of all batches so far have ended. */
  writing: Promise<void>;
  /** The first batch found the disk full, and is retried before anything else is written. */
  isFull: boolean;
  /** Vbuckets whose state is to be written after that batch. */
  readonly statesDue: Set<number>;
}

export const newFileState = (vbs: number[], urgentRelease: UrgentRelease, memory?: CutMemory): FileState => ({
  vbs,
  urgentRelease,
  writer: new CutWriter(0, memory),
  ends: [],
  cursor: 0,
  batchBytes: firstBatchBytes,
  timer: null,
  delays: 0,
  changes: 0,
  load: 0,
  isLoaded: false,
  unvisitedVbuckets: 0,
  writesRound: false,
  defersReplicated: false,
  deferredSinceMs: null,
  isUrgent: false,
  running: null,
  failure: null,
  batches: [],
  writing: Promise.resolve(),
  isFull: false,
  statesDue: new Set(),
});

/** Forgets what was encoded and not written. */
export function discardBatches(file: FileState): void {
  file.batches.length = 0;
  // A write of states that met a full disk leaves what it has encoded for a later batch.
  file.ends = [];
  file.writer.discard();
  file.isFull = false;
  file.statesDue.clear();
}

export function vbucketsOfFile(file: number, fileCount: number, vbucketCount: number): number[] {
  return Array.from({ length: vbucketCount }, (_, vb) => vb).filter((vb) => fileOf(vb, fileCount) === file);
}
