// Batches of documents as they pass from the data thread to the threads of services beside it, without frames: requests are plain
// data, the documents of a reply are entries in one buffer, each with a head of fixed size.

/** Reads documents by their keys. */
export interface KeysRequest {
  readonly kind: 'keys';
  readonly id: number;
  readonly bucket: string;
  readonly collection: number;
  /** For each key a u16 vbucket, a u16 length, and the key after its collection id. */
  readonly keys: Uint8Array;
}

/** Reads all documents of a collection in some vbuckets. */
export interface VbucketsRequest {
  readonly kind: 'vbuckets';
  readonly id: number;
  readonly bucket: string;
  readonly collection: number;
  readonly vbuckets: readonly number[];
  readonly keysOnly: boolean;
}

export type BatchRequest = KeysRequest | VbucketsRequest;

/**
 * Asks for memory of a bucket, to read documents of the collection there: the hash tables of a group of vbuckets that contains `vbucket`,
 * and the items of a group of pages that contains `page`.
 */
export interface MemoryRequest {
  readonly kind: 'memory';
  readonly bucket: string;
  readonly collection: number;
  readonly vbucket: number;
  readonly page: number;
}

export interface MemoryReply {
  readonly kind: 'memory';
  readonly bucket: string;
  readonly collection: number;
  /** Null: the service may not read the memory of this collection. */
  readonly grant: MemoryGrant | null;
}

/** What a service needs to read documents in the memory of a bucket. All arrays are in shared memory. */
export interface MemoryGrant {
  /** The grant ends when `revocations` has another number: the bucket was closed, or its collections changed. */
  readonly number: number;
  readonly revocations: Int32Array;
  /** A SequenceLock. */
  readonly lock: SharedArrayBuffer;
  readonly hashSeed: number;
  /** By vbucket. */
  readonly states: Uint8Array;
  /** By vbucket: after this time other nodes may be active, so the service must not answer from this memory. */
  readonly servedUntilMs: Float64Array;
  /** The time from which `servedUntilMs` counts, in milliseconds of the clock of the process. */
  readonly clockStartMs: number;
  /** By vbucket. */
  readonly tableVersions: Uint32Array;
  readonly tables: readonly SharedPart[];
  /** By page number. */
  readonly pageVersions: Uint32Array;
  readonly pages: readonly SharedPart[];
  /** One number: how many documents of the collection services have found in memory since the data thread counted them last. */
  readonly hits: Int32Array;
}

/** A document that was found in the memory of a bucket. */
export interface MemoryDocument {
  /** The stored value is `bytes[start, end)`. */
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly datatype: number;
  readonly flags: number;
  readonly expiry: number;
  readonly casHi: number;
  readonly casLo: number;
}

/** A table or a page; the reference is valid as long as its version is this one. */
export interface SharedPart {
  readonly number: number;
  readonly version: number;
  /** Null: the service cannot read this part. */
  readonly memory: SharedArrayBuffer | null;
}

/** Grants have ended, or pages were released: the service releases its references to that memory. */
export interface MemoryChange {
  readonly kind: 'memoryChanged';
}

/** Documents that a service has read in memory, and that the data thread has not marked as used. */
export interface UsedDocuments {
  readonly kind: 'used';
  readonly bucket: string;
  /** As in a KeysRequest. */
  readonly keys: Uint8Array;
}

/** Names the slot for requests whose reply the service waits for, or, as null, says that a request is in it. */
export type SlotMessage = { readonly kind: 'slot'; readonly memory: SharedArrayBuffer } | null;

/** What a service sends, and what it receives. */
export type ServiceMessage = BatchRequest | MemoryRequest | UsedDocuments | SlotMessage;
export type DataMessage = BatchReply | MemoryReply | MemoryChange;

/** Offsets of a request in the slot: the parts of a KeysRequest. The keys follow the name of the bucket. */
export const slotRequestAt = { collection: 0, bucketBytes: 4, bucket: 5 } as const;

export interface BatchReply {
  readonly id: number;
  /** Null: the bucket or collection cannot be read in this way, or not now; a request through the data port gets the reason. */
  readonly entries: Uint8Array | null;
  /** How many of the requested vbuckets the entries contain; the service requests the others again. */
  readonly vbuckets: number;
}

export const Entry = {
  found: 0,
  missing: 1,
  /** Without its value, which is large or on disk only: the service reads it through the data port. */
  single: 2,
  /** The service reads all of this vbucket through the data port. */
  vbucket: 3,
} as const;

export const keyHeadBytes = 4;
export const entryHeadBytes = 24;
/** Offsets in the head of an entry. The value follows the key. */
export const EntryAt = { datatype: 1, keyBytes: 2, flags: 4, expiry: 8, cas: 12, valueBytes: 20 } as const;
