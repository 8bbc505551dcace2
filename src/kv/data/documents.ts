// The documents of one bucket as commands use them: find, store, remove, lock. Synchronous and without
// allocation: inputs are ranges of buffers, results are written into reused views. A view, like every memory
// address, is valid only until the next call into Documents and until the caller yields.
//
// Keys are always in canonical wire form with the LEB128 collection id in front (default collection: one zero
// byte). 64-bit CAS values and uuids are two 32-bit words; seqnos (below 2^43) and revisions are numbers.
import type { Status } from '#wire/status.ts';
import type { CutItem } from './cut.ts';
import type { VbucketState } from './vbucket-state.ts';

/**
 * A value of at least this size has memory of its own, which is neither changed nor reused while a reference to it exists: it may be sent
 * and processed from there at any time. A smaller one must be copied before the view is used again.
 */
export const ownMemoryBytes = 512 * 1024;

/** A stored item. `buffer` is the memory page; key and value are ranges of it. */
export interface ItemView {
  buffer: Buffer;
  keyStart: number;
  keyEnd: number;
  /** Whole stored value: xattr section (when datatype has the bit) and body, snappy-compressed if that bit is set. */
  valueStart: number;
  valueEnd: number;
  datatype: number;
  flags: number;
  /** Absolute seconds since 1970, 0 = never. For a tombstone: the time of deletion. */
  expiry: number;
  casHi: number;
  casLo: number;
  seqno: number;
  rev: number;
  isDeleted: boolean;
  /** Currently locked. Commands then show all ones in place of the CAS. */
  isLocked: boolean;
}

/** A document as stored on disk. */
export type StoredDocument = Omit<ItemView, 'isDeleted' | 'isLocked'>;

/** The result of a disk read for a key that a call did not find in memory. */
export interface FetchedDocument {
  readonly vb: number;
  readonly key: Buffer;
  /** Null when the disk has no such key; may be a tombstone. */
  readonly item: CutItem | null;
  /** Memory had no room for it: only reads can be answered from this result. */
  readonly lacksRoom: boolean;
}

/** Called with the fetched document, or with the status to answer. */
export type WhenFetched = (fetched: FetchedDocument | Status) => void;

/** How a store treats an existing document. */
export const StoreMode = {
  set: 0,
  add: 1,
  replace: 2,
  /**
   * Writes a tombstone that keeps `value` (system xattrs). The document must exist; with `countsTombstone` it may be a tombstone,
   * or absent when no CAS is expected.
   */
  remove: 3,
} as const;
export type StoreMode = (typeof StoreMode)[keyof typeof StoreMode];

export const DurabilityLevel = {
  none: 0,
  majority: 1,
  majorityAndPersistActive: 2,
  persistToMajority: 3,
} as const;
export type DurabilityLevel = (typeof DurabilityLevel)[keyof typeof DurabilityLevel];

/**
 * The result of a call that needs a read from disk first: not a status, and negative so that it equals none. `awaitDisk`, called
 * before the caller yields, calls back when the same call can be repeated, or with the status to answer.
 */
export const notResident = -5;

/** The result of a call into `Documents`. */
export type DocumentResult = Status | typeof notResident;

/** One mutation. The caller owns one of these and refills it; every field is set before each call. */
export interface MutationRequest {
  vb: number;
  key: Buffer;
  keyStart: number;
  keyEnd: number;
  value: Buffer;
  valueStart: number;
  valueEnd: number;
  /** Memory that holds nothing but `value`, with room for header and key in front: the document may take it over. Else null. */
  memory: SharedArrayBuffer | null;
  datatype: number;
  flags: number;
  /** As on the wire: 0 never, up to 30 days relative, else absolute seconds. */
  expiry: number;
  /** Keep the stored expiry (preserve-TTL frame, append, prepend, counters on an existing document). */
  preserveExpiry: boolean;
  /** Expected CAS, both words 0 = none. A locked document accepts only its lock's CAS. */
  casHi: number;
  casLo: number;
  mode: StoreMode;
  /** The document may be a tombstone: it counts as existing (access-deleted, revive, create-as-deleted). */
  countsTombstone: boolean;
  /** Keep the stored document's xattr section in front of `value` (plain SET and REPLACE over a document with xattrs). */
  keepXattrs: boolean;
  /** `makeRoom` was called before: the change evicts nothing itself, so that it gets the CAS and seqno that `peekNext` has returned. */
  hasRoom: boolean;
  durability: DurabilityLevel;
  /** Timeout of a durable write in milliseconds, 0 = the default of 30 s. */
  durabilityTimeoutMs: number;
}

/** Metadata of a version made on another cluster: what it keeps, and how conflicts with the stored version are resolved. */
export interface IncomingVersion {
  casHi: number;
  casLo: number;
  /** Revision, below 2^48. */
  rev: number;
  isDeletion: boolean;
  /** The deletion was an expiry. */
  isExpiration: boolean;
  /** The version is refused (keyExists) if there is a live document with the key. */
  mustBeNew: boolean;
  /** How the winner is found; null when the incoming version always wins. */
  rule: 'seqno' | 'lww' | null;
  /** The version gets a CAS of this node instead of its own. */
  regeneratesCas: boolean;
}

/** The result of a mutation. */
export interface MutationResult {
  casHi: number;
  casLo: number;
  seqno: number;
  /** Above 0: the token of an unresolved durable write; `Documents.onResolved` is called with it and a status. */
  pending: number;
}

/**
 * Preconditions of every call are checked in the protocol's order: vbucket is active here,
 * durable write in progress on the key (0xa2, writers only), existence, lock (0x09), CAS (0x02), quota (0x86), size (0x03).
 */
export interface Documents {
  readonly vbucketCount: number;
  /** True when this node serves the vbucket as active. */
  isActive(vb: number): boolean;
  /** `dead` while the vbucket cannot be read. */
  stateOf(vb: number): VbucketState;

  /** Finds the committed live document; turns an expired one into a tombstone first (lazy expiry). */
  find(vb: number, key: Buffer, keyStart: number, keyEnd: number, view: ItemView): DocumentResult;
  /** As `find`, but also finds a tombstone (`view.deleted`). */
  findAny(vb: number, key: Buffer, keyStart: number, keyEnd: number, view: ItemView): DocumentResult;
  /** As `findAny`, for everything but the value, which may be missing from `view`. */
  findMeta(vb: number, key: Buffer, keyStart: number, keyEnd: number, view: ItemView): DocumentResult;
  /** As `findAny`, in a replica vbucket; notMyVbucket in others. An expired document is not found, and stays as it is. */
  findReplica(vb: number, key: Buffer, keyStart: number, keyEnd: number, view: ItemView): DocumentResult;
  awaitDisk(done: WhenFetched): void;
  /** Until called with null, reads use this fetched document where memory does not hold it. */
  provideFetched(fetched: FetchedDocument | null): void;
  /**
   * Instead of `awaitDisk`: reads the document that the last call did not find, without loading it into memory, so that scans
   * evict nothing. Null when it no longer exists; the result is valid until the callback returns.
   */
  readStored(done: (found: StoredDocument | null | Status) => void): void;
  /** Stores a document; applies the maximum TTL of collection and bucket, and marks the item dirty. */
  store(request: MutationRequest, result: MutationResult): DocumentResult;
  /**
   * Turns the document into a tombstone: user xattrs are dropped, system xattrs (`_` prefix) stay. Uses vb, key, CAS and
   * durability of the request.
   */
  remove(request: MutationRequest, result: MutationResult): DocumentResult;
  /**
   * Stores a version made on another cluster with its CAS, revision, flags and expiry (absolute; the maximum TTL limits it), or a deletion
   * that keeps `value`. Returns keyExists when the stored version wins. Durability of request and bucket does not apply.
   */
  storeIncoming(request: MutationRequest, incoming: IncomingVersion, result: MutationResult): DocumentResult;
  /** Sets a new expiry (a mutation). The item is in `view` afterwards. Uses vb, key, expiry, durability. */
  touch(request: MutationRequest, result: MutationResult, view: ItemView): DocumentResult;
  /**
   * Locks for `seconds` (0 or above 30: 15); `result` gets the lock's CAS, `view` the item, whose CAS stays as it is. Temporary failure when
   * too many documents are locked.
   */
  lock(
    vb: number,
    key: Buffer,
    keyStart: number,
    keyEnd: number,
    seconds: number,
    result: MutationResult,
    view: ItemView,
  ): DocumentResult;
  unlock(
    vb: number,
    key: Buffer,
    keyStart: number,
    keyEnd: number,
    casHi: number,
    casLo: number,
  ): DocumentResult;
  /** Whether this is the CAS of a lock on the document that the last call looked up, also of one whose time is over. */
  isLockCas(casHi: number, casLo: number): boolean;

  /** Evicts documents if little memory is left; every view of one is invalid afterwards. Changes call it unless they have `hasRoom`. */
  makeRoom(): void;
  /** The CAS and seqno that a `store` with `hasRoom` will give to the key that the last call looked up, unless the caller yields before. */
  peekNext(result: MutationResult): void;

  highSeqno(vb: number): number;
  /**
   * The seqno of a collection's latest change; below those of pending durable writes, which clients must not wait for. 0 when no change is
   * known: there was none, or all were purged before the start.
   */
  collectionSeqno(vb: number, collection: number): number;
  /** What this node has on its disk. */
  persistedSeqno(vb: number): number;
  /**
   * The seqno up to which changes are acknowledged to clients as persisted. 0 while another node, whose disk may lack changes of this one,
   * would become active if all nodes of the vbucket lost their memory.
   */
  safePersistedSeqno(vb: number): number;
  /** Failover log, newest first. */
  failoverLog(vb: number): readonly FailoverEntry[];

  /** Called when a durable write is resolved: status success, or syncWriteAmbiguous on time-out or lost persistence. */
  onResolved: (token: number, status: Status) => void;
  /** As `safePersistedSeqno`, for a client that polls until it has risen: the flusher writes the vbucket soon. */
  watchPersisted(vb: number): number;
  /** Calls back once `seqno` of `vb` is persisted (at once if it is), or with false after `timeoutMs`. */
  whenPersisted(vb: number, seqno: number, timeoutMs: number, done: (persisted: boolean) => void): void;
}

export interface FailoverEntry {
  uuidHi: number;
  uuidLo: number;
  seqno: number;
}

export const emptyMutation = (): MutationRequest => ({
  vb: 0,
  key: Buffer.alloc(0),
  keyStart: 0,
  keyEnd: 0,
  value: Buffer.alloc(0),
  valueStart: 0,
  valueEnd: 0,
  memory: null,
  datatype: 0,
  flags: 0,
  expiry: 0,
  preserveExpiry: false,
  casHi: 0,
  casLo: 0,
  mode: StoreMode.set,
  countsTombstone: false,
  keepXattrs: false,
  hasRoom: false,
  durability: 0,
  durabilityTimeoutMs: 0,
});

export const emptyItemView = (): ItemView => ({
  buffer: Buffer.alloc(0),
  keyStart: 0,
  keyEnd: 0,
  valueStart: 0,
  valueEnd: 0,
  datatype: 0,
  flags: 0,
  expiry: 0,
  casHi: 0,
  casLo: 0,
  seqno: 0,
  rev: 0,
  isDeleted: false,
  isLocked: false,
});
