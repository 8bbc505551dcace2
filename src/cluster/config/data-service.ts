// The port to the data service on this node. The agent implements it; tests use a small fake.
import type { MetricSample } from '#metrics/sample.ts';

export interface DataService {
  /** Resolves with true once the data service runs a configuration at least this new; with false after the timeout. */
  applied(revision: number, timeoutMs: number): Promise<boolean>;
  /** Resolves with true once the data service has applied all changes that were requested before this call, those of accounts included. */
  caughtUp(timeoutMs: number): Promise<boolean>;
  /** Reads fresh figures, of all buckets or of one; bounded, so that a busy data service does not delay readers for long. */
  refresh(bucketUuid?: string): Promise<void>;
  /** The newest figures of a bucket; null before its first report. */
  measured(bucketUuid: string): MeasuredBucket | null;
  /** The number of connections of clients in the newest report. */
  connections(): number;
  /** The current metrics of the data service. */
  metrics(): Promise<MetricSample[]>;
  /** A key of the default collection, or null if it is empty. */
  randomKey(bucket: string): Promise<string | null>;
  /** Starts a compaction without waiting for it. */
  compact(bucketUuid: string, request: CompactionRequest): Promise<void>;
  cancelCompaction(bucketUuid: string, origin: CompactionOrigin): Promise<void>;
  onChange(listener: () => void): { stop(): void };
}

/** The source of a compaction: a cancellation names it. */
export type CompactionOrigin = 'bucket' | 'databases' | 'automatic';

export interface CompactionRequest {
  /** Tombstones of deletions before this second are purged. */
  purgeBeforeSeconds: number | 'all';
  origin: CompactionOrigin;
}

export interface WarmUpFigures {
  state: 'opening' | 'keys' | 'values' | 'done';
  /** Documents and tombstones whose key is loaded, and how many of them have their value loaded. */
  keys: number;
  values: number;
  /** Number of documents and tombstones in the files. */
  expected: number;
  /** Duration until all keys were loaded and until the end; while the warm-up runs, the time so far. */
  keysMs: number;
  ms: number;
}

export interface MeasuredBucket {
  state: 'warmup' | 'ready' | 'failed';
  /** Documents of copies; absent in reports of nodes of older versions. */
  replicaItems?: number;
  /** Documents of shards that are being moved here; absent in reports of nodes of older versions. */
  pendingItems?: number;
  /** Conditions that an operator must know: unreadable files, reasons why writes are refused. */
  problems: readonly string[];
  /** Documents of the active vbuckets. */
  items: number;
  memUsedBytes: number;
  /** The part of `diskBytes` that compaction would keep. */
  dataBytes: number;
  /** The size of the bucket's files. */
  diskBytes: number;
  /** Bytes on disk that compaction would release. */
  freeDiskBytes: number;
  /** Share of the data files, in percent, that compaction would release. */
  fragmentationPercent: number;
  /** A running compaction: documents copied, of about how many. */
  compaction: { origin: string; done: number; total: number } | null;
  /** The warm-up of a persistent bucket; null for other buckets. */
  warmUp: WarmUpFigures | null;
  /** The part of the memory in use that document headers and the key index take. */
  metaBytes: number;
  /** Since the bucket started: writes refused with a temporary failure, since memory had no room or too many bytes of the vbucket waited for the disk. */
  memoryRefusals: number;
  /** Since the bucket started: commits to disk that failed. */
  failedCommits: number;
  /** Writes of other nodes with a time too far ahead of this node's clock, since the bucket started. */
  writesAheadOfClock: number;
  /** Changes that wait to be written to disk. */
  dirtyItems: number;
  /** Documents whose value is only on disk. */
  nonResident: number;
  /** Live items per collection id in lower-case hex. */
  collectionItems: Readonly<Record<string, number>>;
  /** Per second, over the last sampling step. */
  rates: { ops: number; gets: number; getHits: number; diskFetches: number };
}
