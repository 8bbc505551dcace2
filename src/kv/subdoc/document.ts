// What the executor is told of the document and of the moment.

/** The document as it is. For one that is not there, not even as a tombstone, only `exists` matters. */
export interface SubdocDocument {
  exists: boolean;
  /** A tombstone. */
  deleted: boolean;
  /** As stored, with the snappy bit if it has it; `value` is inflated all the same. */
  datatype: number;
  /** Xattr section, when datatype has the bit, and body; not compressed. */
  value: Buffer;
  flags: number;
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

/** What holds for the request besides the document. */
export interface SubdocContext {
  /** CAS and seqno that the mutation will get (lookups: not used). */
  casHi: number;
  casLo: number;
  seqno: number;
  mayReadSystemXattrs: boolean;
  mayWriteSystemXattrs: boolean;
  wallSeconds: number;
  hlcMode: 'real' | 'logical';
}
