// What the manager's features ask of the data service on this node. The agent answers; tests use a small stand-in.

export interface DataService {
  /** True once the data service runs a configuration at least this new; false when the time is over. */
  settled(revision: number, timeoutMs: number): Promise<boolean>;
  /** Asks for fresh figures; bounded, so that a busy data service delays no reader for long. */
  refresh(): Promise<void>;
  /** The newest figures of a bucket; null before its first report. */
  measured(bucketUuid: string): MeasuredBucket | null;
  connections(): number;
  /** A key of the default collection, or null when it is empty. */
  randomKey(bucket: string): Promise<string | null>;
  onChange(listener: () => void): { stop(): void };
}

export interface MeasuredBucket {
  state: 'warmup' | 'ready' | 'failed';
  /** What an operator must know: files that cannot be read, why no writes are taken. */
  troubles: readonly string[];
  items: number;
  memUsedBytes: number;
  dataBytes: number;
  diskBytes: number;
  dirtyItems: number;
  nonResident: number;
  /** Live items per collection id in lower-case hex. */
  collectionItems: Readonly<Record<string, number>>;
  /** Per second, over the last sampling step. */
  rates: { ops: number; gets: number; getHits: number; diskFetches: number };
}
