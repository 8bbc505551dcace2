// What the manager's features ask of the data service on this node. The agent answers; tests use a small stand-in.
import type { MetricSample } from '#metrics/sample.ts';

export interface DataService {
  /** True once the data service runs a configuration at least this new; false when the time is over. */
  settled(revision: number, timeoutMs: number): Promise<boolean>;
  /** True once the data service runs all that was wanted when this was called, accounts included. */
  caughtUp(timeoutMs: number): Promise<boolean>;
  /** Asks for fresh figures; bounded, so that a busy data service delays no reader for long. */
  refresh(): Promise<void>;
  /** The newest figures of a bucket; null before its first report. */
  measured(bucketUuid: string): MeasuredBucket | null;
  connections(): number;
  /** What it counts, at this moment. */
  metrics(): Promise<MetricSample[]>;
  /** A key of the default collection, or null when it is empty. */
  randomKey(bucket: string): Promise<string | null>;
  /** Begins a compaction and does not wait for it. */
  compact(bucketUuid: string, order: CompactOrder): Promise<void>;
  cancelCompaction(bucketUuid: string, origin: CompactionOrigin): Promise<void>;
  onChange(listener: () => void): { stop(): void };
}

/** Who asked for it: each call off names its own. */
export type CompactionOrigin = 'bucket' | 'databases' | 'automatic';

export interface CompactOrder {
  /** Tombstones of deletions before this second go. */
  purgeBeforeSeconds: number | 'all';
  origin: CompactionOrigin;
}

export interface WarmUpFigures {
  state: 'opening' | 'keys' | 'values' | 'done';
  keys: number;
  values: number;
  expected: number;
  keysMs: number;
  ms: number;
}

export interface MeasuredBucket {
  state: 'warmup' | 'ready' | 'failed';
  /** What an operator must know: files that cannot be read, why no writes are taken. */
  troubles: readonly string[];
  items: number;
  memUsedBytes: number;
  dataBytes: number;
  diskBytes: number;
  /** Of the bytes on disk, what compaction would give back. */
  freeDiskBytes: number;
  /** Share of the data files, in percent, that compaction would give back. */
  fragmentationPercent: number;
  /** Under way: documents copied of about how many. */
  compaction: { origin: string; done: number; total: number } | null;
  /** While a bucket with a disk starts: documents of which the key, and the value, are in memory, of how many on disk. */
  warmUp: WarmUpFigures | null;
  /** Of the memory in use, headers of documents and the index of keys. */
  metaBytes: number;
  /** Writes that found no room in memory, and commits that the disk did not take, since the bucket started. */
  memoryRefusals: number;
  failedCommits: number;
  dirtyItems: number;
  nonResident: number;
  /** Live items per collection id in lower-case hex. */
  collectionItems: Readonly<Record<string, number>>;
  /** Per second, over the last sampling step. */
  rates: { ops: number; gets: number; getHits: number; diskFetches: number };
}
