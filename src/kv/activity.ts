// What the data service counts for its statistics, as plain data: counters since the start of the process, or of the
// bucket where the engine counts them. They only grow, or begin again at zero.

/** Shares of its quota between which the memory of a bucket is kept. */
export const highShare = 0.85;
export const lowShare = 0.75;

/** What clients did with the documents of a bucket or a collection. Reads are `gets`; writes count when they succeeded. */
export interface DocumentCounts {
  gets: number;
  getHits: number;
  /** Writes of values, those of sub-documents and appended bytes included. */
  sets: number;
  deletes: number;
  deleteMisses: number;
  increments: number;
  incrementMisses: number;
  decrements: number;
  decrementMisses: number;
  /** Writes that named the version they replace: they did, there was none, there was another. */
  casHits: number;
  casMisses: number;
  casBadValues: number;
  /** What was refused because of a lock. */
  lockErrors: number;
  /** What replication from other clusters asked for and wrote; the last: versions that lost a conflict. */
  metaGets: number;
  metaSets: number;
  metaDeletes: number;
  metaRejects: number;
}

export const noCounts = (): DocumentCounts => ({
  gets: 0,
  getHits: 0,
  sets: 0,
  deletes: 0,
  deleteMisses: 0,
  increments: 0,
  incrementMisses: 0,
  decrements: 0,
  decrementMisses: 0,
  casHits: 0,
  casMisses: 0,
  casBadValues: 0,
  lockErrors: 0,
  metaGets: 0,
  metaSets: 0,
  metaDeletes: 0,
  metaRejects: 0,
});

export function addCounts(to: DocumentCounts, from: DocumentCounts): void {
  for (const name of Object.keys(from) as (keyof DocumentCounts)[]) to[name] += from[name];
}

/** All operations on documents; a write that named a version is one write. */
export const operationsOf = (counts: DocumentCounts): number =>
  counts.gets +
  counts.sets +
  counts.deletes +
  counts.deleteMisses +
  counts.increments +
  counts.incrementMisses +
  counts.decrements +
  counts.decrementMisses +
  counts.metaGets +
  counts.metaSets +
  counts.metaDeletes;

/** Durations: how many took less than each of `durationBounds`, and all; the sum in seconds. */
export interface DurationFigures {
  counts: number[];
  sum: number;
}

/** Connections with change streams of one kind. */
export interface StreamFigures {
  connections: number;
  itemsSent: number;
  bytesSent: number;
  /** Changes that were not sent yet. */
  itemsRemaining: number;
}

/** What a bucket's memory is used for, in bytes. */
export interface MemoryFigures {
  /** Keys, values and what is known of them. */
  items: number;
  /** Of that, headers of items; and the index of keys. */
  meta: number;
  /** All but the items: indexes, filters, cuts on their way to disk, holes between items. */
  overhead: number;
}

/** What the engine of a bucket counts. */
export interface EngineActivity {
  tombstones: number;
  /** Changes that were noted to be written to disk. */
  queued: number;
  /** Writes that found no room in memory. */
  memoryRefusals: number;
  /** Commits that the disk did not take. */
  failedCommits: number;
  /** Changes that are not on disk yet, in bytes. */
  dirtyBytes: number;
  memory: MemoryFigures;
  commit: DurationFigures;
  fetchWait: DurationFigures;
  fetch: DurationFigures;
}

export interface BucketActivity extends EngineActivity {
  /** By collection id in lower-case hex, of those that were used. */
  collections: Record<string, DocumentCounts>;
  /** By kind of connection. */
  streams: Record<string, StreamFigures>;
}

/** What the ports of the data service count. */
export interface TrafficFigures {
  /** Accepted since the start; those turned away for want of room. */
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
