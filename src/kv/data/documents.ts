// The documents of one bucket as commands see them: find, store, remove, lock. Synchronous and without
// allocation: inputs are ranges of buffers, results are written into reused views. A view, like every memory
// address, is valid only until the next call into Documents or the end of the synchronous stretch.
//
// Keys are always in canonical wire form with the LEB128 collection id in front (default collection: one zero
// byte). 64-bit CAS values and uuids are two 32-bit words; seqnos (below 2^43) and revisions are numbers.
import type { Status } from '#wire/status.ts';
import type { CutItem } from './cut.ts';

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
  deleted: boolean;
  /** Locked now. Readers who may not see the lock's CAS are given all ones by the command. */
  locked: boolean;
}

/** A document as it lies on disk. */
export type StoredDocument = Omit<ItemView, 'deleted' | 'locked'>;

/** What the disk has of a key that a call lacked. */
export interface FetchedDocument {
  readonly vb: number;
  readonly key: Buffer;
  /** Null where the disk has none; tombstones included. */
  readonly item: CutItem | null;
  /** Memory had no room for it: only who reads can go on. */
  readonly stayedOut: boolean;
}

/** Told what was fetched, or why it was not. */
export type WhenFetched = (fetched: FetchedDocument | Status) => void;

/** How a store treats what is there. */
export const StoreMode = {
  set: 0,
  add: 1,
  replace: 2,
  /** Writes a tombstone that keeps `value` (system xattrs). The document must exist; with `overTombstone` it may be a tombstone, or absent when no CAS is expected. */
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
 * What a call answers when the disk must be asked first; never sent to a client. `awaitDisk`, called in the same
 * stretch, calls back when the same call makes sense again, or with the status to answer.
 */
export const notResident = 0x10000 as Status;

/** One mutation. The caller owns one of these and refills it; every field is set before each call. */
export interface MutationRequest {
  vb: number;
  key: Buffer;
  keyStart: number;
  keyEnd: number;
  value: Buffer;
  valueStart: number;
  valueEnd: number;
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
  overTombstone: boolean;
  /** Keep the stored document's xattr section in front of `value` (plain SET and REPLACE over a document with xattrs). */
  keepXattrs: boolean;
  durability: DurabilityLevel;
  /** Milliseconds a durable write may take, 0 = the default of 30 s. */
  durabilityTimeoutMs: number;
}

/** Where a version comes from that was made elsewhere: what it keeps, and how it is weighed against the stored one. */
export interface IncomingVersion {
  casHi: number;
  casLo: number;
  /** Below 2^48. */
  rev: number;
  isDeletion: boolean;
  /** The deletion was an expiry. */
  isExpiration: boolean;
  /** A live document in its place refuses it. */
  mustBeNew: boolean;
  /** How the winner is found; null when the incoming version wins in any case. */
  rule: 'seqno' | 'lww' | null;
  /** The version gets a CAS of this node instead of its own. */
  regeneratesCas: boolean;
}

/** What a mutation gave. */
export interface MutationResult {
  casHi: number;
  casLo: number;
  seqno: number;
  /** Above 0: the write is durable and not settled; `Documents.onSettled` will name this token with a status. */
  pending: number;
}

/**
 * Every call answers a wire status. Preconditions are checked in the protocol's order: vbucket is active here,
 * durable write in progress on the key (0xa2, writers only), existence, lock (0x09), CAS (0x02), quota (0x86), size (0x03).
 */
export interface Documents {
  readonly vbucketCount: number;
  /** True when this node may serve the vbucket as active. */
  isActive(vb: number): boolean;

  /** The committed live document; expired ones are turned into tombstones on the way (lazy expiry). */
  find(vb: number, key: Buffer, keyStart: number, keyEnd: number, view: ItemView): Status;
  /** As `find`, but a tombstone is found too (`view.deleted`). */
  findAny(vb: number, key: Buffer, keyStart: number, keyEnd: number, view: ItemView): Status;
  /** As `findAny`, for all but the value, which may be missing from `view`. */
  findMeta(vb: number, key: Buffer, keyStart: number, keyEnd: number, view: ItemView): Status;
  awaitDisk(done: WhenFetched): void;
  /** Until null is lent, reads take the document from here where memory lacks it, whatever has become of it there. */
  lend(fetched: FetchedDocument | null): void;
  /**
   * In place of `awaitDisk`: reads the document that the call lacked past memory, so that who reads everything pushes
   * out nothing. Null when there is none any more; what is told is good until the call returns.
   */
  readStored(done: (found: StoredDocument | null | Status) => void): void;
  /** Stores a document; applies collection and bucket maximum TTL, dedupes nothing, marks the item dirty. */
  store(request: MutationRequest, result: MutationResult): Status;
  /** Deletes to a tombstone. User xattrs go, system xattrs (`_` prefix) stay. Uses vb, key, cas, durability of the request. */
  remove(request: MutationRequest, result: MutationResult): Status;
  /**
   * Stores a version that was made elsewhere as it is: CAS, revision, flags and expiry (absolute), or a deletion
   * that keeps `value`. keyExists when the stored version wins. Durability of request and bucket does not apply.
   */
  storeIncoming(request: MutationRequest, incoming: IncomingVersion, result: MutationResult): Status;
  /** Sets a new expiry (a mutation). The item is in `view` afterwards. Uses vb, key, expiry, durability. */
  touch(request: MutationRequest, result: MutationResult, view: ItemView): Status;
  /** Locks for `seconds` (0 or above 30: 15); `result` has the lock's CAS, `view` the item. */
  lock(
    vb: number,
    key: Buffer,
    keyStart: number,
    keyEnd: number,
    seconds: number,
    result: MutationResult,
    view: ItemView,
  ): Status;
  unlock(vb: number, key: Buffer, keyStart: number, keyEnd: number, casHi: number, casLo: number): Status;

  /** The CAS and seqno that the next `store` or `remove` in this vbucket and synchronous stretch will get. */
  peekNext(vb: number, result: MutationResult): void;

  highSeqno(vb: number): number;
  /** Of the latest change of a collection; 0 where there is none, or it was purged before the start. */
  collectionSeqno(vb: number, collection: number): number;
  persistedSeqno(vb: number): number;
  /** Failover log, newest first. */
  failoverLog(vb: number): readonly FailoverEntry[];

  /** Called when a durable write settles: status success, or syncWriteAmbiguous on time-out or lost persistence. */
  onSettled: (token: number, status: Status) => void;
  /** As `persistedSeqno`, for a client that will ask again until it has risen: what is missing is written soon. */
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
  datatype: 0,
  flags: 0,
  expiry: 0,
  preserveExpiry: false,
  casHi: 0,
  casLo: 0,
  mode: StoreMode.set,
  overTombstone: false,
  keepXattrs: false,
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
  deleted: false,
  locked: false,
});
