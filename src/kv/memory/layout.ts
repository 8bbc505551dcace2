// Where an item's fields lie in its memory: twelve 32-bit words in the machine's byte order, then key, then value.

export const headerWords = 12;
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
  /** Bits of the state (16), datatype (8), key length (8). */
  state: 10,
  /** End of the lock in lock ticks; or the address of the pending version, while there is one. */
  lockOrPending: 11,
} as const;

/** State bits as they lie in the word. */
export const Bit = {
  deleted: 1 << 16,
  expired: 1 << 17,
  dirty: 1 << 18,
  locked: 1 << 19,
  /** A durable write waits beside this committed version. */
  hasPending: 1 << 20,
  /** This is a durable write that nobody may see yet. */
  pending: 1 << 21,
} as const;

export const maxKeyBytes = 255;
