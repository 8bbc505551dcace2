// Counters and gauges of the data service as plain data. Counters count since the start of the process, those of a bucket's engine since
// the start of the bucket, and only grow or restart at zero.
import type { DocumentCounts } from './document-counts.ts';

/** A histogram of durations: cumulative counts for each of `durationBounds` and for all, and the sum in seconds. */
export interface DurationFigures {
  counts: number[];
  sum: number;
}

/** Change stream connections of one kind (replication, xdcr, …). */
export interface StreamFigures {
  connections: number;
  itemsSent: number;
  bytesSent: number;
  /** Changes not sent yet. */
  itemsRemaining: number;
}

/** Memory of a bucket by use, in bytes. */
export interface MemoryFigures {
  /** Keys, values and metadata. */
  items: number;
  /** Headers of items (part of `items`) and the key index. */
  meta: number;
  /** Everything except items: indexes, filters, cuts that the flusher writes, fragmentation. */
  overhead: number;
}

/** Writes with a CAS that another node made. */
export interface DriftFigures {
  /** The sum of their distances from this node's clock, in microseconds. */
  us: number;
  writes: number;
  /** How many of the writes had a CAS that was further ahead, or behind, than the bucket allows. */
  ahead: number;
  behind: number;
}

/** Counters and gauges of a bucket's engine. */
export interface EngineActivity {
  tombstones: number;
  /** Changes queued for the flusher since the start. */
  queued: number;
  /** Writes refused with a temporary failure: memory had no room, or too many bytes of the vbucket waited for the disk. */
  memoryRefusals: number;
  /** Commits to disk that failed. */
  failedCommits: number;
  /** Size of changes that are not persisted yet. */
  dirtyBytes: number;
  memory: MemoryFigures;
  /** Clock drift of writes with metadata, and of changes that other nodes' actives sent to copies here. */
  drift: { active: DriftFigures; replica: DriftFigures };
  /** Values that the background compression tried, and compressed. */
  compression: { visited: number; compressed: number };
  /** Commits to disk. */
  commit: DurationFigures;
  /** Background fetches: waiting in the queue, then the read from disk. */
  fetchWait: DurationFigures;
  fetch: DurationFigures;
}

export interface BucketActivity extends EngineActivity {
  /** By collection id in lower-case hex; only collections that were used. */
  collections: Record<string, DocumentCounts>;
  /** By kind of change stream connection. */
  streams: Record<string, StreamFigures>;
}

/** Counters of the data ports. */
export interface TrafficFigures {
  /** Connections accepted since the start, and connections refused because a limit was reached. */
  connections: number;
  rejected: number;
  logins: number;
  refusedLogins: number;
  readBytes: number;
  writtenBytes: number;
}

export const noTraffic = (): TrafficFigures => ({
  connections: 0,
  rejected: 0,
  logins: 0,
  refusedLogins: 0,
  readBytes: 0,
  writtenBytes: 0,
});
