// Input of the executor: the document, and the context of the request.

/** The stored document. If there is none, not even a tombstone, only `exists` is valid. */
export interface SubdocDocument {
  exists: boolean;
  /** A tombstone. */
  isDeleted: boolean;
  /** The stored datatype, which may include the snappy bit; `value` is always inflated. */
  datatype: number;
  /** Xattr section (if datatype has the bit) and body, not compressed. */
  value: Buffer;
  flags: number;
  /** Seconds since 1970; 0: never. */
  expiry: number;
  casHi: number;
  casLo: number;
  seqno: number;
  rev: number;
  vbuuidHi: number;
  vbuuidLo: number;
  /** Seconds since 1970. */
  lastModified: number;
}

/** The document that macros read where the request sees none: without the metadata of a tombstone or of an earlier request. */
export const unseenDocument: SubdocDocument = {
  exists: false,
  isDeleted: false,
  datatype: 0,
  value: Buffer.alloc(0),
  flags: 0,
  expiry: 0,
  casHi: 0,
  casLo: 0,
  seqno: 0,
  rev: 0,
  vbuuidHi: 0,
  vbuuidLo: 0,
  lastModified: 0,
};

/** Context of the request besides the document. */
export interface SubdocContext {
  /** CAS and seqno that the mutation will get; lookups do not use them. */
  casHi: number;
  casLo: number;
  seqno: number;
  mayReadSystemXattrs: boolean;
  mayWriteSystemXattrs: boolean;
  /** Now, in seconds since 1970. */
  wallSeconds: number;
  /** Mode of the hybrid logical clock that assigns CAS values. */
  hlcMode: 'real' | 'logical';
}
