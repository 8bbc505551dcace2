// What the data service asks of its disk. A bucket has a fixed number of files; vbucket `vb` lives in file
// `(vb % 64) % fileCount` (a shard is the vbuckets with one remainder modulo 64, and lives wholly in one file).
// One implementation writes SQLite files in a worker thread, one keeps everything in memory and models what is
// committed and what is synced; one test suite runs over both.

import type { OpenPlace } from '#ports/file-place.ts';
import type { Want } from './wants.ts';

/** Where a bucket's files are and which life of the bucket they belong to. */
export interface BucketFiles {
  /** Folder of the bucket, made when absent. */
  folder: string;
  bucketUuid: string;
  /** Raised by flush: files of an older incarnation are dropped at open. */
  incarnation: number;
  fileCount: number;
  /** They were made before: when they are not there, they are lost, and are not made anew. */
  wasMade?: boolean;
  /** The lock of the data folder: nothing is committed once another file is in its place. */
  lock?: OpenPlace;
}

/** State of one vbucket as kept in its file. 64-bit values are 8-byte big-endian buffers. */
export interface VbucketRecord {
  vb: number;
  highSeqno: number;
  /** Highest CAS ever given out, 8 bytes big-endian. */
  maxCas: Uint8Array;
  purgeSeqno: number;
  /** Highest revision of any deleted document: a re-created one starts above it. */
  maxDeletedRev: number;
  /** 16 bytes an entry: uuid, seqno (both big-endian), newest first, at most 25. */
  failover: Uint8Array;
  manifestUid: number;
  items: number;
  deleted: number;
}

export interface OpenedFile {
  file: number;
  /** Last stop was clean: nothing that a client saw can be missing. */
  clean: boolean;
  vbuckets: VbucketRecord[];
}

/** A file that could not be opened or read; the bucket serves the rest. */
export interface DamagedFile {
  file: number;
  path: string;
  reason: string;
}

/** Rejection of `load`: the file is not what was written. It is left as it is. */
export class DamagedFileError extends Error implements DamagedFile {
  override readonly name = 'DamagedFileError';
  readonly file: number;
  readonly path: string;
  readonly reason: string;

  constructor(damage: DamagedFile, options?: ErrorOptions) {
    super(`bucket file ${damage.path} is damaged: ${damage.reason}`, options);
    this.file = damage.file;
    this.path = damage.path;
    this.reason = damage.reason;
  }
}

/**
 * Rejection of `commit` when there is no space left: nothing of it was written, the file is as it was, and the same
 * cuts may be committed again. No other failure may be tried again.
 */
export class DiskFullError extends Error {
  override readonly name = 'DiskFullError';
  /** What was to be committed: its memory was handed over with the call. */
  readonly cuts: CutBuffer;

  constructor(cuts: CutBuffer, reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.cuts = cuts;
  }
}

export interface OpenResult {
  opened: OpenedFile[];
  damaged: DamagedFile[];
}

/** What of the values a load brings: all, those that lie in their rows, or none. */
export type LoadedValues = 'all' | 'small' | 'none';

export interface LargeItems {
  /** Cuts that carry no state of their vbuckets. */
  batch: CutBuffer;
  /** Null after the last page. */
  next: number | null;
}

/** Part of a vbucket's rows, as one moment of the file had them. */
export interface BackfillPage {
  /** One cut with the rows in seqno order, or nothing when there are none. */
  batch: CutBuffer;
  /** All rows after the given seqno up to here are in the page. */
  toSeqno: number;
  /** High seqno of the vbucket at that moment: when `toSeqno` gets there, nothing is missing. */
  endSeqno: number;
  /** Up to here tombstones have been purged. */
  purgeSeqno: number;
}

/**
 * Encoded by `cut.ts`: one cut or several, each a vbucket's dirty keys with the newest version of each, with the
 * vbucket's state at the end of the cut. A commit is one transaction and one fsync.
 */
export type CutBuffer = Uint8Array;

export interface CollectionKeysOrder {
  /** The collection's id as it leads its keys. */
  prefix: Uint8Array;
  after: Want | null;
  limit: number;
}

export interface Fetched {
  /** The items found, tombstones included, as cuts that carry no state of their vbuckets. */
  batch: CutBuffer;
  /** Places in the request of keys whose item is not what was written. */
  failed: number[];
}

/** How many threads may read, write, and copy files for compaction. */
export interface DiskThreads {
  readers: number;
  writers: number;
  compactors: number;
}

export interface DiskEngine {
  /** For engines with threads. Those that write hold for buckets that are opened afterwards, the others at once. */
  setThreads?(threads: DiskThreads): void;
  open(files: BucketFiles): Promise<OpenResult>;
  /**
   * All rows of one file in batches of encoded cuts, in the order of their keys within a vbucket: a key keeps its place
   * there, so that none is left out when commits come in between. `consume` is awaited: its promise is the back-pressure.
   * A cut of a batch carries the vbucket's final state. `values` is asked at each batch; values that are left out are
   * marked so, and large ones that are left out are not compared with their checksum.
   * Rejects with DamagedFileError when a row cannot be read as it was written; the file then takes no commits, and
   * what was consumed before stands.
   */
  load(
    bucketUuid: string,
    file: number,
    consume: (batch: CutBuffer) => void | Promise<void>,
    values?: () => LoadedValues,
  ): Promise<void>;
  /** Items whose value is large, some at a time: `after` is 0 and then `next` of the page before. */
  largeItems(bucketUuid: string, file: number, after: number): Promise<LargeItems>;
  /**
   * Resolves after the fsynced commit. Rejects on any error; the file then takes no further commits until reopened,
   * unless the error is a DiskFullError.
   * Takes over the memory of `cuts` when it is a whole buffer (it may be transferred to another thread).
   */
  commit(bucketUuid: string, file: number, cuts: CutBuffer): Promise<void>;
  /**
   * The items of these keys as the last commit left them, read beside commits that are under way. Rejects when
   * nothing could be read.
   */
  fetchItems(bucketUuid: string, file: number, wants: readonly Want[]): Promise<Fetched>;
  /** Keys of live documents that have expired at this time (seconds since 1970), the longest expired first. */
  expiredKeys(bucketUuid: string, file: number, atSeconds: number, limit: number): Promise<Want[]>;
  /** Keys of live documents of one collection, in the order of vbuckets and keys, from the first after `after` on. */
  collectionKeys(bucketUuid: string, file: number, order: CollectionKeysOrder): Promise<Want[]>;
  /**
   * The rows of one vbucket after a seqno, as many as make a page, read in one short transaction of a connection of
   * its own. Rejects with DamagedFileError when a row is not as it was written.
   */
  backfill(bucketUuid: string, file: number, vb: number, afterSeqno: number): Promise<BackfillPage>;
  /**
   * Removes every row (flush of the bucket), raising the incarnation, in one atomic step. Mends damaged files.
   * Commits and loads that have not ended when it is called may reject.
   */
  reset(bucketUuid: string, incarnation: number): Promise<void>;
  sizes(bucketUuid: string): Promise<DiskSizes>;
  /**
   * Rewrites one file without its free space and without old tombstones, while commits to it go on. Rejects, leaving
   * the file as it is, when called off, when there is no room for the copy, or when the file is compacted already.
   * `close`, `reset`, `destroy` and `stop` call it off.
   */
  compact(bucketUuid: string, file: number, options: CompactOptions): Promise<CompactResult>;
  /**
   * Sets the clean flag after the last commit and closes the files. A file that failed stays marked unclean; all do when
   * not `clean`: what an unclean stop asks for is still to be done.
   */
  close(bucketUuid: string, clean?: boolean): Promise<void>;
  /** Closes and deletes the folder. */
  destroy(files: BucketFiles): Promise<void>;
  /** Ends the engine. Buckets that were not closed count as not stopped cleanly. */
  stop(): Promise<void>;
}

/** Bytes on disk (all files with their WAL), and bytes of live and of free pages in them. */
export interface DiskSizes {
  fileBytes: number;
  dataBytes: number;
  /** What compaction gives back. */
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

/** Later than any deletion. */
export const everyTombstone = 2 ** 33;

export interface CompactResult {
  bytesBefore: number;
  bytesAfter: number;
  purged: PurgedVbucket[];
}

/** Tombstones of one vbucket that compaction has dropped. */
export interface PurgedVbucket {
  vb: number;
  /** Tombstones above this seqno were all kept. */
  upToSeqno: number;
  /** Highest seqno that was dropped. */
  purgeSeqno: number;
  /** Of documents: those of system events count nowhere. */
  tombstones: number;
}

const shardCount = 64;

export const purgedRecord = (
  record: VbucketRecord,
  { purgeSeqno, tombstones }: PurgedVbucket,
): VbucketRecord => ({
  ...record,
  purgeSeqno: Math.max(record.purgeSeqno, purgeSeqno),
  deleted: Math.max(record.deleted - tombstones, 0),
});
export const fileOf = (vb: number, fileCount: number): number => (vb % shardCount) % fileCount;
