// The interfaces of index files, for the indexes that follow change streams and for scans; implemented over SQLite.
import type { KeyInterval } from '../spans/intervals.ts';

/** The position of a file in one vbucket. */
export interface VbPosition {
  readonly vb: number;
  /** The uuid of the history of the seqnos. */
  readonly uuid: bigint;
  readonly seqno: number;
  readonly snapshotStart: number;
  readonly snapshotEnd: number;
  /** The end of the last complete snapshot. Within a snapshot the index is inconsistent: the stream omits superseded versions. */
  readonly completeSeqno: number;
}

/** A document's rows. */
export interface DocumentRows {
  /** UTF-8. */
  readonly id: Uint8Array;
  /** Distinct keys; empty if the document is not in the index. */
  readonly keys: readonly Uint8Array[];
}

/** The index definition that a file belongs to. A file of another definition is replaced. */
export interface FileIdentity {
  readonly indexId: string;
  readonly bucketUuid: string;
  readonly collectionId: number;
  readonly isPrimary: boolean;
  /** Changes with everything that determines rows: expressions, condition, version of the key format. */
  readonly fingerprint: string;
}

/** The only writer of a file. After a method other than `stage` throws, the file is unchanged. */
export interface IndexFile {
  /** Number of rows after the last commit. */
  readonly rows: number;
  /** The initial build is complete. */
  readonly isBuilt: boolean;
  positions(): readonly VbPosition[];
  /** Stages rows of documents that have none yet; the next commit writes them sorted. If it throws, the documents are kept for the next call or commit. */
  stage(documents: readonly DocumentRows[]): void;
  /** Memory that the staged rows take. */
  readonly stagedBytes: number;
  /** Writes what was staged, then replaces the rows of documents. One transaction. */
  commit(documents: readonly DocumentRows[], positions: readonly VbPosition[]): void;
  /** Removes the rows and positions of some vbuckets (null: all) and the staged rows; the index then counts as not built. */
  remove(vbuckets: ReadonlySet<number> | null): void;
  markBuilt(): void;
  /**
   * Compares the next rows of the index with those of the back index, in a file that was too large to be compared when it was opened. Returns
   * whether rows remain. Throws if the file is damaged.
   */
  compareMore(): boolean;
  /** Limits the page cache of the file. */
  limitCache(bytes: number): void;
  /** Size of the file and its log. */
  bytes(): number;
  close(): void;
}

export interface IndexStore {
  /** Opens or creates a file. Replaces a damaged file, or one of another definition, by an empty one, and logs the reason. */
  open(identity: FileIdentity): IndexFile;
  /** Removes a file; its writer may only close it. */
  remove(bucketUuid: string, indexId: string): void;
  /** All files, for removing those without a definition. */
  list(): readonly { readonly bucketUuid: string; readonly indexId: string }[];
}

export interface StoredRow {
  readonly key: Buffer;
  readonly id: string;
  /** The id as it is stored, of the last row of a page: it may have bytes that are not UTF-8, which the text has not. */
  readonly idBytes?: Uint8Array;
}

/** Reads a file concurrently with its writer. All pages show the same snapshot until `refresh`. */
export interface IndexReader {
  /**
   * Up to `limit` rows of an interval in index order or its reverse, after the row `after`. The caller applies the interval's
   * `accepts`.
   */
  page(interval: KeyInterval, request: PageRequest): readonly StoredRow[];
  /** The next page shows a new snapshot. */
  refresh(): void;
  close(): void;
}

export interface PageRequest {
  readonly after: StoredRow | null;
  readonly isReverse: boolean;
  readonly limit: number;
  /** The caller reads no other page of the same snapshot. */
  readonly isOnly?: boolean;
  /**
   * With `isOnly`: how often the index had been committed when the page was requested. Pages with the same number may share a snapshot. Absent: the
   * page shows the newest snapshot.
   */
  readonly commits?: number | undefined;
  /** The keys of the rows may be empty, except that of the last row if the page is full and others may follow. */
  readonly idsOnly?: boolean;
}

export interface IndexReaders {
  /** Throws MissingIndexFileError when there is none. */
  open(bucketUuid: string, indexId: string): IndexReader;
}

export class MissingIndexFileError extends Error {}
