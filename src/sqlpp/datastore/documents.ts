// The engine's interface to the data service: documents by key, all of a collection, and writes. Implemented by the query service over
// the data port, and in memory for tests. Outcomes have the order of the input; a failed document does not affect others.
import type { Keyspace } from './keyspace.ts';

export interface StoredDocument {
  readonly id: string;
  /** The uncompressed body without extended attributes. */
  readonly bytes: Uint8Array;
  /** Where the body is in a buffer with several bodies. Reading it there is faster than `bytes`, which is created at each access. */
  readonly place?: { readonly buffer: Uint8Array; readonly start: number; readonly end: number };
  readonly isJson: boolean;
  readonly cas: bigint;
  /** Seconds since 1970; 0: never. */
  readonly expiration: number;
  /** 32 bits that the client set; their meaning is up to clients. */
  readonly flags: number;
  /** The requested attributes by name, as JSON text. */
  readonly xattrs?: ReadonlyMap<string, Uint8Array>;
  /** True for a deleted document, which only reads with `withDeleted` return. */
  readonly isDeleted?: boolean;
}

export interface ReadOptions {
  /** Names of extended attributes to read, without the prefix `xattrs.`. */
  readonly xattrs?: readonly string[];
  /** Reads `expiration`, which costs more. Without this flag the field may be 0 for a document that has an expiration. */
  readonly expiration?: boolean;
  /** Also reads deleted documents that have extended attributes; allowed only with `xattrs`. */
  readonly withDeleted?: boolean;
  readonly signal: AbortSignal;
}

export interface ScanOptions extends ReadOptions {
  /** Keys only: bodies are empty. */
  readonly keysOnly?: boolean;
  /** Also the records in which transactions store their attempts; statements do not see them. */
  readonly withTransactionRecords?: boolean;
}

export type Durability = 'none' | 'majority' | 'majorityAndPersistActive' | 'persistToMajority';

export interface DocumentWrite {
  readonly kind: 'insert' | 'upsert' | 'replace' | 'delete';
  readonly id: string;
  /** JSON text; empty for a deletion. */
  readonly bytes: Uint8Array;
  /** The document must still have this CAS; 0n: any. */
  readonly cas: bigint;
  /** The CAS of the document that the statement read, for a deletion with any CAS: a transaction detects a change since then. */
  readonly readCas?: bigint;
  /** Absolute seconds since 1970, 0: none, 'keep': as the document has it. */
  readonly expiration: number | 'keep';
  /** Extended attributes to set (JSON text) or remove (null). */
  readonly xattrs?: ReadonlyMap<string, Uint8Array | null>;
}

export interface WriteOptions {
  readonly durability: Durability;
  readonly signal: AbortSignal;
}

export type WriteOutcome =
  | { readonly status: 'done'; readonly cas: bigint }
  | { readonly status: 'exists' | 'not found' | 'cas mismatch' | 'locked' }
  /** `reason` is a sentence; `retryable`: the same write may succeed later. */
  | { readonly status: 'failed'; readonly reason: string; readonly retryable: boolean }
  /** The data service did not answer, so the write may have been made or not; the error ends the statement. */
  | { readonly status: 'unknown'; readonly error: Error };

/** By the position of the id; undefined for a missing document. */
export type FoundDocuments = (StoredDocument | undefined)[];

export interface Documents {
  /**
   * Calls `receive` with each document that can be read without waiting, which is valid during the call only. Returns the positions of the other
   * ids, which the caller passes to `read`; null: all.
   */
  readNow?(
    keyspace: Keyspace,
    ids: readonly string[],
    options: ReadOptions,
    receive: (document: StoredDocument, position: number) => void,
  ): readonly number[] | null;
  /**
   * In the order of the ids. Without a promise if all documents can be read without waiting. Throws or rejects when the keyspace was
   * dropped or the data service does not answer.
   */
  read(
    keyspace: Keyspace,
    ids: readonly string[],
    options: ReadOptions,
  ): FoundDocuments | Promise<FoundDocuments>;
  /** All documents that exist at the call, unordered, in batches. Leaving the loop early frees all resources. */
  scan(keyspace: Keyspace, options: ScanOptions): AsyncIterable<readonly StoredDocument[]>;
  count(keyspace: Keyspace, signal: AbortSignal): Promise<number>;
  /** Rejects if no write was answered. */
  write(keyspace: Keyspace, writes: readonly DocumentWrite[], options: WriteOptions): Promise<WriteOutcome[]>;
}
