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

/** Names the slot for requests whose reply the service waits for, or, as null, says that a request is in it. */
export type SlotMessage = { readonly kind: 'slot'; readonly memory: SharedArrayBuffer } | null;

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
