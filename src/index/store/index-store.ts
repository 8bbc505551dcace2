// What the follower and the scans need of an index's file. Implemented over SQLite; pages of our own can take its place.
import type { KeyInterval } from '../spans/intervals.ts';

/** Up to where a file has the changes of one vbucket. */
export interface VbPosition {
  readonly vb: number;
  /** History that the seqnos belong to. */
  readonly uuid: bigint;
  readonly seqno: number;
  readonly snapshotStart: number;
  readonly snapshotEnd: number;
  /** End of the last complete snapshot: inside of one, older versions of documents are missing already and newer ones still. */
  readonly completeSeqno: number;
}

/** A document's rows. */
export interface DocumentRows {
  /** UTF-8. */
  readonly id: Uint8Array;
  /** Different from each other; none: the document is not in the index. */
  readonly keys: readonly Uint8Array[];
}

/** Which definition a file belongs to. A file of another one is not used. */
export interface FileIdentity {
  readonly indexId: string;
  readonly bucketUuid: string;
  readonly collectionId: number;
  readonly isPrimary: boolean;
  /** Changes with whatever decides about rows: expressions, condition, version of the key format. */
  readonly fingerprint: string;
}

/** The one writer of a file. Its methods throw; after a throw nothing of the call is in the file. */
export interface IndexFile {
  /** Of the last commit. */
  readonly rows: number;
  /** The initial build is complete. */
  readonly isBuilt: boolean;
  positions(): readonly VbPosition[];
  /** Takes rows of documents that have none yet, to be written sorted by the next commit. */
  stage(documents: readonly DocumentRows[]): void;
  readonly stagedBytes: number;
  /** Writes what was staged, then replaces the rows of documents. One transaction. */
  commit(documents: readonly DocumentRows[], positions: readonly VbPosition[]): void;
  /** Removes the rows and positions of some vbuckets; null: of all. What was staged is forgotten, and the index is built no more. */
  remove(vbuckets: ReadonlySet<number> | null): void;
  markBuilt(): void;
  /** How much of the file is kept in memory. */
  limitCache(bytes: number): void;
  /** File with its log. */
  bytes(): number;
  close(): void;
}

export interface IndexStore {
  /** Opens or makes a file. One that is damaged, or not of this definition, is replaced by an empty one; `log` gets the reason. */
  open(identity: FileIdentity): IndexFile;
  /** Removes a file that nobody writes any more. */
  remove(bucketUuid: string, indexId: string): void;
  /** All files, for removing those without a definition. */
  list(): readonly { readonly bucketUuid: string; readonly indexId: string }[];
}

export interface StoredRow {
  readonly key: Buffer;
  readonly id: string;
}

/** Reads one file while its writer goes on. Every page of a reader is of the same moment, until `refresh`. */
export interface IndexReader {
  /**
   * Up to `limit` rows of an interval in index order or its reverse, behind the row `after`. The interval's `accepts` is the
   * caller's.
   */
  page(interval: KeyInterval, page: Page): readonly StoredRow[];
  count(interval: KeyInterval): number;
  countDistinct(intervals: readonly KeyInterval[]): number;
  /** The next page sees the file as it is then. */
  refresh(): void;
  close(): void;
}

export interface Page {
  readonly after: StoredRow | null;
  readonly isReverse: boolean;
  readonly limit: number;
}

export interface IndexReaders {
  /** Throws MissingIndexFileError when there is none. */
  open(bucketUuid: string, indexId: string): IndexReader;
}

export class MissingIndexFileError extends Error {}
