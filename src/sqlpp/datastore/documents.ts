// What the engine needs of the data service: documents by key, all of a collection, and writes. Implemented by the query service over
// the data port, and in memory for tests. Order of outcomes is the order of the input; one bad document never fails its neighbours.
import type { Keyspace } from './keyspace.ts';

export interface StoredDocument {
  readonly id: string;
  /** The body as it is stored, decompressed, without extended attributes. */
  readonly bytes: Uint8Array;
  readonly isJson: boolean;
  readonly cas: bigint;
  /** Seconds since 1970; 0: never. */
  readonly expiration: number;
  readonly flags: number;
  /** By name, as JSON text; only those that were asked for. */
  readonly xattrs?: ReadonlyMap<string, Uint8Array>;
}

export interface ReadOptions {
  /** Names of extended attributes to read too, without `xattrs.` in front. */
  readonly xattrs?: readonly string[];
  /** `expiration` is needed: without this it may be 0 for a document that has one, as reading it costs more. */
  readonly expiration?: boolean;
  readonly signal: AbortSignal;
}

export interface ScanOptions extends ReadOptions {
  /** Keys only: bodies are empty. */
  readonly keysOnly?: boolean;
}

export type Durability = 'none' | 'majority' | 'majorityAndPersistActive' | 'persistToMajority';

export interface DocumentWrite {
  readonly kind: 'insert' | 'upsert' | 'replace' | 'delete';
  readonly id: string;
  /** JSON text; empty for a deletion. */
  readonly bytes: Uint8Array;
  /** Written only if the document still has this CAS; 0n: whatever it has. */
  readonly cas: bigint;
  /** Of a deletion, which is done whatever the document has: the CAS that was read. */
  readonly readCas?: bigint;
  /** Absolute seconds since 1970, 0: none, 'keep': as the document has it. */
  readonly expiration: number | 'keep';
  /** Set (JSON text) or remove (null). */
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
  | { readonly status: 'failed'; readonly reason: string; readonly retryable: boolean };

export interface Documents {
  /** undefined: no such document. Rejects when the keyspace is gone or the data service does not answer. */
  read(
    keyspace: Keyspace,
    ids: readonly string[],
    options: ReadOptions,
  ): Promise<(StoredDocument | undefined)[]>;
  /** All documents as of the call, in no order, in batches. Leaving the loop early frees everything. */
  scan(keyspace: Keyspace, options: ScanOptions): AsyncIterable<readonly StoredDocument[]>;
  count(keyspace: Keyspace, signal: AbortSignal): Promise<number>;
  write(keyspace: Keyspace, writes: readonly DocumentWrite[], options: WriteOptions): Promise<WriteOutcome[]>;
}
