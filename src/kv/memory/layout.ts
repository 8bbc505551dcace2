// Layout of an item in memory: twelve 32-bit words in the machine's byte order, then key, then value.

const headerWords = 12;
export const headerBytes = headerWords * 4;

/** Word offsets within an item's header. */
export const Word = {
  /** Neighbours in the vbucket's list of dirty items. */
  next: 0,
  previous: 1,
  casHi: 2,
  casLo: 3,
  seqnoLo: 4,
  /** High 16 bits of the revision, then high 16 bits of the seqno. */
  highs: 5,
  revLo: 6,
  flags: 7,
  expiry: 8,
  valueBytes: 9,
  /** Bits of the state (11), vbucket (10), datatype (3), key length (8); 0 marks a free chunk. */
  state: 10,
  /** End of the lock in lock ticks (see `vbucket/now.ts`); or the address of the pending version, while there is one. */
  lockOrPending: 11,
} as const;

/** State bits at their position in the word. */
export const Bit = {
  deleted: 1 << 21,
  expired: 1 << 22,
  dirty: 1 << 23,
  locked: 1 << 24,
  /** A durable write is pending beside this committed version. */
  hasPending: 1 << 25,
  /** A pending durable write, not yet visible. */
  pending: 1 << 26,
  /** The value is on disk only. */
  valueNonResident: 1 << 27,
  /** Accessed since the evictor last visited it (CLOCK reference bit). */
  used: 1 << 28,
  /** The value was compressed in memory: that of the row is not. */
  compressedHere: 1 << 29,
} as const;

/** The numbers beside the bits in the state word. */
export const keyBytesIn = (state: number): number => state & 0xff;
export const datatypeIn = (state: number): number => (state >>> 8) & 0x7;
export const withDatatype = (state: number, datatype: number): number =>
  (state & ~(0x7 << 8)) | (datatype << 8);
export const vbIn = (state: number): number => (state >>> 11) & 0x3ff;
export const stateOf = (bits: number, vb: number, datatype: number, keyBytes: number): number =>
  bits | (vb << 11) | (datatype << 8) | keyBytes;

/** Revisions have 48 bits. */
export const revMax = 2 ** 48 - 1;
export const vbucketsMax = 1024;
export const keyBytesMax = 255;
