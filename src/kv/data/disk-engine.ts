// The interface of the disk engine. A bucket has a fixed number of files; vbucket `vb` is stored in file
// `(vb % 64) % fileCount` (a shard is the vbuckets with one remainder modulo 64, and is stored wholly in one file).
// One implementation writes SQLite files in worker threads, one keeps everything in memory and models what is
// committed and what is synced; one test suite runs over both.

import type { OpenPlace } from '#ports/file-place.ts';
import type { CutItem } from './cut.ts';
import type { CutMemory } from './cut-memory.ts';
import type { DocumentKey } from './document-keys.ts';

/** Where a bucket's files are and which incarnation of the bucket they belong to. */
export interface BucketFiles {
  /** Folder of the bucket, made when absent. */
  folder: string;
  bucketUuid: string;
  /** Raised by flush: files of an older incarnation are dropped at open. */
  incarnation: number;
  fileCount: number;
  /** The files existed before: missing files are reported as damaged, not created again. */
  filesExisted?: boolean;
  /** The lock of the data folder: commits are refused once another file has replaced it. */
  lock?: OpenPlace;
}

/** State of one vbucket as kept in its file. 64-bit values are 8-byte big-endian buffers. */
export interface VbucketRecord {
  vb: number;
  highSeqno: number;
  /** Highest CAS of any change, 8 bytes big-endian. */
  maxCas: Uint8Array;
  purgeSeqno: number;
  /** Highest revision of any deleted document: a document created again starts above it. */
  maxDeletedRev: number;
  /** 16 bytes an entry: uuid, seqno (both big-endian), newest first, at most 25. */
  failover: Uint8Array;
  manifestUid: number;
  items: number;
  deleted: number;
  /** See CutState. */
  snapStart: number;
  snapEnd: number;
  epoch: number;
  copy: number;
}

export interface OpenedFile {
  file: number;
  /** The last stop was clean: no acknowledged change can be missing. */
  clean: boolean;
  /** The boot ids that the last `close` noted (its `by`); null if it had none, or the stop was not clean. */
  closedBy: string | null;
  vbuckets: VbucketRecord[];
}

/** A file that could not be opened or read; the bucket serves the rest. */
export interface DamagedFile {
  file: number;
  path: string;
  reason: string;
  /** The file is whole, but belongs to a later incarnation of the bucket than the one that was to be opened. */
  isLater?: boolean;
}

/** `load` rejects with this when the file's contents are not what was written. The file is left unchanged. */
export class DamagedFileError extends Error implements DamagedFile {
  override readonly name = 'DamagedFileError';
  readonly file: number;
  readonly path: string;
  readonly reason: string;
  readonly isLater: boolean;

  constructor(damage: DamagedFile, options?: ErrorOptions) {
    super(`bucket file ${damage.path} is damaged: ${damage.reason}`, options);
    this.file = damage.file;
    this.path = damage.path;
    this.reason = damage.reason;
    this.isLater = damage.isLater ?? false;
  }
}

/**
 * `commit` rejects with this when the disk is full: nothing was written, the file is unchanged, and the same cuts may be
 * committed again. No other failure may be retried.
 */
export class DiskFullError extends Error {
  override readonly name = 'DiskFullError';
  /** The cuts of the failed commit: their memory was transferred with the call. */
  readonly cuts: CutBuffer;

  constructor(cuts: CutBuffer, reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.cuts = cuts;
  }
}

export interface OpenResult {
  opened: OpenedFile[];
  damaged: DamagedFile[];
  /** The disk had no space to open this file, which is unchanged. The same `open` may be called again, and opens what is missing. */
  noSpace?: { path: string; reason: string };
}

/** Which values a load returns: all, those stored in their rows, or none. */
export type LoadedValues = 'all' | 'small' | 'none';

/** One page of the items of a file whose values are large. */
export interface LargeItems {
  /** Cuts that carry no state of their vbuckets. */
  batch: CutBuffer;
  /** The `after` of the next page; null: this is the last one. */
  next: number | null;
}

/** The size of a page of rows: some 2,000 small rows, read in about 10 ms. */
export const backfillPageBytes = 512 * 1024;

export interface BackfillRequest {
  vb: number;
  afterSeqno: number;
  /** The page ends with the row that reaches this size. */
  targetBytes: number;
}

/** Part of a vbucket's rows, in the state of one read transaction. */
export interface BackfillPage {
  /** One cut with the rows in seqno order, or nothing when there are none. */
  batch: CutBuffer;
  /** By seqno, large documents in memory of their own, which does not change: the batch has no values for them. */
  inPlace?: ReadonlyMap<number, CutItem>;
  /** The page holds all rows after the requested seqno up to here. */
  toSeqno: number;
  /** High seqno of the vbucket in that transaction: when `toSeqno` reaches it, nothing is missing. */
  endSeqno: number;
  /** Tombstones up to this seqno have been purged. */
  purgeSeqno: number;
  /** In a page without deletions: the high seqno when its documents were listed. The call for the next page passes it on. */
  listedSeqno?: number;
  /** Frees the memory of the batch, which must not be used afterwards: left to the garbage collector, it would make collections frequent. */
  free?(): void;
}

/**
 * Encoded by `cut.ts`: one cut or several, each with the newest version of a vbucket's dirty keys and the vbucket's state at
 * the end of the cut. A commit is one transaction and one fsync.
 */
export type CutBuffer = Uint8Array;

export interface ExpiredKey extends DocumentKey {
  /** Seconds since 1970. */
  readonly expiry: number;
}

export interface ExpiredKeysRequest {
  readonly atSeconds: number;
  readonly after: ExpiredKey | null;
  readonly limit: number;
}

export interface CollectionKeysRequest {
  /** The collection's id, encoded as at the start of its keys. */
  prefix: Uint8Array;
  after: DocumentKey | null;
  limit: number;
}

export interface FetchedItems {
  /** The items found, tombstones included, as cuts that carry no state of their vbuckets. */
  batch: CutBuffer;
  /** Positions in the request of keys whose stored item is damaged. */
  damaged: number[];
}

/** How many threads may read, write, and copy files for compaction. */
export interface DiskThreads {
  readers: number;
  writers: number;
  compactors: number;
}

export interface DiskEngine {
  /** Memory for cuts that `commit` reads in place; the caller releases it when the commit has ended. Without it cuts have memory of their own. */
  readonly cutMemory?: CutMemory;
  /** Sets the numbers of threads. The number of writers applies to buckets that are opened afterwards, the other numbers apply at once. */
  setThreads?(threads: DiskThreads): void;
  open(files: BucketFiles): Promise<OpenResult>;
  /**
   * Reads all rows of one file in batches of encoded cuts, in key order within a vbucket: keys do not move in that order, so
   * commits in between cause no gaps. `consume` is awaited: its promise is the back-pressure. A cut of a batch carries the
   * vbucket's final state. `values` is called for each batch; values that are left out are marked so, and large ones that are
   * left out are not compared with their checksum.
   * @throws DamagedFileError when a row fails its check; the file then takes no commits, and batches consumed before remain valid.
   */
  load(
    bucketUuid: string,
    file: number,
    consume: (batch: CutBuffer) => void | Promise<void>,
    values?: () => LoadedValues,
  ): Promise<void>;
  /** Items with large values, a page at a time: `after` is 0, then `next` of the previous page. */
  largeItems(bucketUuid: string, file: number, after: number): Promise<LargeItems>;
  /**
   * Resolves after the fsynced commit, with the milliseconds that the file's thread took for it. `isUrgent`: a client waits for it, so
   * that it should take little time, even if a later commit or read takes longer. Transfers the memory of `cuts` to another thread
   * when `cuts` is the whole of its memory, or reads it in place when it is shared.
   * @throws DiskFullError when nothing was written and the commit may be retried; after any other error the file takes no
   * further commits until it is reopened.
   */
  commit(bucketUuid: string, file: number, cuts: CutBuffer, isUrgent?: boolean): Promise<number>;
  /**
   * Resolves when no other urgent commit is under way in the file's thread, with a function that the caller calls after its own commit:
   * cuts that are encoded in between share one commit instead of waiting in several.
   */
  queueUrgent?(bucketUuid: string, file: number): Promise<() => void>;
  /**
   * Delays checkpoints of the bucket's files, or ends the delay: a file whose write-ahead log is several times as large as usual gets its
   * checkpoint nevertheless. For times in which a client waits for one commit after the other.
   */
  delayCheckpoints?(bucketUuid: string, isDelayed: boolean): Promise<void>;
  /** Frees what is kept for urgent commits of the file. Called when there was none for some seconds; another one may follow. */
  endUrgent?(bucketUuid: string, file: number): Promise<void>;
  /**
   * Returns the items of these keys as of the last commit, reading concurrently with commits. Rejects when nothing could be
   * read.
   */
  fetchItems(bucketUuid: string, file: number, keys: readonly DocumentKey[]): Promise<FetchedItems>;
  /** Keys of live documents that have expired, ordered by expiry, vbucket and key, after `after`. */
  expiredKeys(bucketUuid: string, file: number, request: ExpiredKeysRequest): Promise<ExpiredKey[]>;
  /** Keys of live documents of one collection, ordered by vbucket and key, after `after`. */
  collectionKeys(bucketUuid: string, file: number, request: CollectionKeysRequest): Promise<DocumentKey[]>;
  /**
   * Returns one page of a vbucket's rows after a seqno, read in one short transaction of a separate connection. It ends with the row
   * that reaches `targetBytes`, by default `backfillPageBytes`. Small pages that are requested together are read together.
   * @throws DamagedFileError when a row fails its check.
   */
  backfill(
    bucketUuid: string,
    file: number,
    vb: number,
    afterSeqno: number,
    targetBytes?: number,
  ): Promise<BackfillPage>;
  /** Removes all rows of vbuckets and their states, in one transaction. Cancels compactions of the bucket. */
  drop(bucketUuid: string, file: number, vbs: readonly number[]): Promise<void>;
  /**
   * Takes the vbucket of the cut back to the cut's end: removes its rows above that seqno, writes the items of the cut, which are at or below it, and its
   * state, in one transaction. Cancels compactions of the bucket. False, with nothing changed, where tombstones above the end have been
   * purged, or an item has a seqno that another key has.
   */
  rollBack(bucketUuid: string, file: number, cut: CutBuffer): Promise<boolean>;
  /**
   * Removes every row (flush of the bucket) and raises the incarnation, in one atomic step. Replaces damaged files. Commits and
   * loads under way when it is called may reject.
   */
  reset(bucketUuid: string, incarnation: number): Promise<void>;
  sizes(bucketUuid: string): Promise<DiskSizes>;
  /**
   * Rewrites one file without its free space and without old tombstones, concurrently with commits. Rejects, leaving the file
   * as it is, when it is cancelled, when the disk has no room for the copy, or when a compaction of the file is under way.
   * `close`, `reset`, `destroy` and `stop` cancel it.
   */
  compact(bucketUuid: string, file: number, options: CompactOptions): Promise<CompactResult>;
  /**
   * Sets the clean flag after the last commit and closes the files. A failed file stays marked unclean; all files do unless
   * `clean`, which says that recovery from an unclean stop is complete. `by`: boot ids, noted in files that are marked clean.
   */
  close(bucketUuid: string, clean?: boolean, by?: string): Promise<void>;
  /** Closes and deletes the folder. */
  destroy(files: BucketFiles): Promise<void>;
  /** Stops the engine. Buckets that were not closed count as not stopped cleanly. */
  stop(): Promise<void>;
}

/** Bytes on disk (all files with their WAL), and bytes of live and of free pages in them. */
export interface DiskSizes {
  fileBytes: number;
  dataBytes: number;
  /** Bytes that compaction would free. */
  freeBytes: number;
}

export const addSizes = (sizes: readonly DiskSizes[]): DiskSizes =>
  sizes.reduce(
    (sum, { fileBytes, dataBytes, freeBytes }) => ({
      fileBytes: sum.fileBytes + fileBytes,
      dataBytes: sum.dataBytes + dataBytes,
      freeBytes: sum.freeBytes + freeBytes,
    }),
    noSizes,
  );

export const noSizes: DiskSizes = { fileBytes: 0, dataBytes: 0, freeBytes: 0 };

export interface CompactOptions {
  /** Tombstones of deletions before this second are dropped: 0 for none, `everyTombstone` for all. */
  purgeBeforeSeconds: number;
  /** Documents copied so far, and about how many there are in the file. */
  progress?: (done: number, total: number) => void;
  signal?: AbortSignal;
}

/** A time after any deletion. */
export const everyTombstone = 2 ** 33;

export interface CompactResult {
  bytesBefore: number;
  bytesAfter: number;
  purged: PurgedVbucket[];
}

/** Tombstones of one vbucket that compaction has dropped. */
export interface PurgedVbucket {
  vb: number;
  /** All tombstones above this seqno were kept. */
  upToSeqno: number;
  /** Highest seqno of a dropped tombstone. */
  purgeSeqno: number;
  /** Dropped tombstones of documents; system events are not counted. */
  tombstones: number;
}

/** The state of a vbucket after a compaction has dropped tombstones of it. */
export const purgedRecord = (
  record: VbucketRecord,
  { purgeSeqno, tombstones }: PurgedVbucket,
): VbucketRecord => ({
  ...record,
  purgeSeqno: Math.max(record.purgeSeqno, purgeSeqno),
  deleted: Math.max(record.deleted - tombstones, 0),
});

const shardCount = 64;

/** The number of the file that stores a vbucket. */
export const fileOf = (vb: number, fileCount: number): number => (vb % shardCount) % fileCount;
