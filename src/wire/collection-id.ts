// Collection ids in front of keys: unsigned LEB128, shortest form only, at most 32 bits.

/** The id at `at`, or -1 if it is truncated, too long, not in its shortest form, or above 32 bits. */
export function readCollectionId(buffer: Buffer, at: number, end: number): number {
  if (at >= end) return -1;
  const first = buffer[at] as number;
  if (first < 0x80) return first;
  let id = first & 0x7f;
  let factor = 0x80;
  for (let offset = 1; offset < 5; offset++) {
    if (at + offset >= end) return -1;
    const byte = buffer[at + offset] as number;
    id += (byte & 0x7f) * factor;
    if (byte < 0x80) return byte === 0 || id > 0xffffffff ? -1 : id;
    factor *= 0x80;
  }
  return -1;
}

/** Encoded size of an id. */
export function collectionIdBytes(id: number): number {
  if (id < 0x80) return 1;
  if (id < 0x4000) return 2;
  if (id < 0x200000) return 3;
  return id < 0x10000000 ? 4 : 5;
}

/** Writes an id; returns the position after it, where the key starts. */
export function writeCollectionId(buffer: Buffer, at: number, id: number): number {
  let rest = id;
  let to = at;
  while (rest >= 0x80) {
    buffer[to++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  buffer[to++] = rest;
  return to;
}

export const defaultCollectionId = 0;

/** Ids 1 to 7 are reserved for the server. */
export const isReservedCollectionId = (id: number): boolean => id > 0 && id < 8;

/** Longest keys, without their collection id: in the default collection, and in all others. */
export const keyBytesMax = { inDefault: 250, inOthers: 246 } as const;
