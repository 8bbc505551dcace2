// The snappy block format (public document: google/snappy format_description.txt). Input comes from clients: every length is
// checked before a byte is read or written, and the claimed size before memory is allocated.

/** Larger values are stored uncompressed: inflating them for each reader would take too long. */
export const packedBytesMax = 512 * 1024;

/** The uncompressed size that a block claims, or -1 if its preamble is malformed. */
export function snappyLength(bytes: Uint8Array, start: number, end: number): number {
  let value = 0;
  for (let i = 0; i < 5 && start + i < end; i++) {
    const byte = bytes[start + i] as number;
    value += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return value < 2 ** 32 ? value : -1;
  }
  return -1;
}

/** Inflates a block; returns null if it is malformed or claims more than `limit` bytes. */
export function snappyInflate(bytes: Buffer, start: number, end: number, limit: number): Buffer | null {
  const length = snappyLength(bytes, start, end);
  if (length < 0 || length > limit) return null;
  // A 3-byte copy element produces at most 64 bytes, so a larger claim is false; it must not allocate memory.
  if (length > (end - start) * 22) return null;
  const out = Buffer.allocUnsafe(length);
  return snappyInflateInto(bytes, start, end, out, 0) === length ? out : null;
}

/** Inflates a block to `out` at `outStart`; returns the position after it, or -1 if it is malformed or does not fit. */
export function snappyInflateInto(
  bytes: Buffer,
  start: number,
  end: number,
  out: Buffer,
  outStart: number,
): number {
  const length = snappyLength(bytes, start, end);
  if (length < 0 || length > out.length - outStart) return -1;
  const outEnd = outStart + length;
  let at = start;
  while ((bytes[at++] as number) >= 0x80);
  let to = outStart;
  while (at < end) {
    const tag = bytes[at++] as number;
    const kind = tag & 3;
    if (kind === 0) {
      let size = tag >> 2;
      if (size >= 60) {
        const extra = size - 59;
        if (at + extra > end) return -1;
        size = bytes.readUIntLE(at, extra);
        at += extra;
      }
      size++;
      if (size > end - at || size > outEnd - to) return -1;
      if (size <= 16) for (let i = 0; i < size; i++) out[to + i] = bytes[at + i] as number;
      else bytes.copy(out, to, at, at + size);
      at += size;
      to += size;
      continue;
    }
    let size = (tag >> 2) + 1;
    let offset: number;
    if (kind === 1) {
      if (at + 1 > end) return -1;
      size = ((tag >> 2) & 7) + 4;
      offset = ((tag >> 5) << 8) | (bytes[at] as number);
      at += 1;
    } else if (kind === 2) {
      if (at + 2 > end) return -1;
      offset = bytes.readUInt16LE(at);
      at += 2;
    } else {
      if (at + 4 > end) return -1;
      offset = bytes.readUInt32LE(at);
      at += 4;
    }
    if (offset === 0 || offset > to - outStart || size > outEnd - to) return -1;
    if (offset >= size && size > 16) out.copyWithin(to, to - offset, to - offset + size);
    else for (let i = 0; i < size; i++) out[to + i] = out[to + i - offset] as number;
    to += size;
  }
  return to === outEnd ? to : -1;
}

/** Upper bound of the compressed size of `length` bytes. */
export function snappyBound(length: number): number {
  return 32 + length + Math.ceil(length / 6);
}

const blockBytes = 65536;
const hashBits = 13;
/** Hash table of the compressor: the last position of each hash in the current block. */
const seen = new Uint16Array(1 << hashBits);

/** Compresses a range into `out`, of at least `snappyBound` bytes, or into a new buffer; returns the part that it used. */
export function snappyCompress(
  bytes: Buffer,
  start: number,
  end: number,
  out: Buffer = Buffer.allocUnsafe(snappyBound(end - start)),
): Buffer {
  let to = writeLength(out, end - start);
  for (let block = start; block < end; block += blockBytes) {
    to = compressBlock(bytes, block, Math.min(block + blockBytes, end), out, to);
  }
  return out.subarray(0, to);
}

function writeLength(out: Buffer, length: number): number {
  let at = 0;
  let rest = length;
  while (rest >= 0x80) {
    out[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  out[at++] = rest;
  return at;
}

/** Faster than `readInt32LE`, which checks its arguments at each position. */
const wordAt = (bytes: Buffer, at: number): number =>
  (bytes[at] as number) |
  ((bytes[at + 1] as number) << 8) |
  ((bytes[at + 2] as number) << 16) |
  ((bytes[at + 3] as number) << 24);

function compressBlock(bytes: Buffer, start: number, end: number, out: Buffer, outAt: number): number {
  let to = outAt;
  let literal = start;
  let at = start + 1;
  let misses = 0;
  seen.fill(0);
  const lastWord = end - 4;
  let word = at <= lastWord ? wordAt(bytes, at) : 0;
  while (at <= lastWord) {
    const slot = Math.imul(word, 0x1e35a7bd) >>> (32 - hashBits);
    const match = start + (seen[slot] as number);
    seen[slot] = at - start;
    // The first byte decides most comparisons, also those with the empty slots.
    if (match >= at || bytes[match] !== (word & 0xff) || wordAt(bytes, match) !== word) {
      // The step grows with the number of misses, so that incompressible data is skipped quickly.
      const step = 1 + (misses++ >> 5);
      at += step;
      if (at > lastWord) break;
      word = step === 1 ? (word >>> 8) | ((bytes[at + 3] as number) << 24) : wordAt(bytes, at);
      continue;
    }
    let length = 4;
    while (at + length < end && bytes[match + length] === bytes[at + length]) length++;
    to = writeLiteral(bytes, literal, at, out, to);
    to = writeCopy(out, to, at - match, length);
    at += length;
    literal = at;
    misses = 0;
    if (at <= lastWord) word = wordAt(bytes, at);
  }
  return writeLiteral(bytes, literal, end, out, to);
}

/** For so few bytes a loop is faster than a call. */
const copiedByLoop = 32;

function writeLiteral(bytes: Buffer, start: number, end: number, out: Buffer, outAt: number): number {
  if (start === end) return outAt;
  const last = end - start - 1;
  let to = outAt;
  if (last < 60) out[to++] = last << 2;
  else if (last < 256) {
    out[to++] = 60 << 2;
    out[to++] = last;
  } else {
    out[to++] = 61 << 2;
    out[to++] = last & 0xff;
    out[to++] = last >> 8;
  }
  if (last < copiedByLoop) for (let at = start; at < end; at++) out[to++] = bytes[at] as number;
  else {
    bytes.copy(out, to, start, end);
    to += end - start;
  }
  return to;
}

function writeCopy(out: Buffer, outAt: number, offset: number, length: number): number {
  let to = outAt;
  let rest = length;
  while (rest > 0) {
    // Copies below 4 bytes have no short form: leave at least 4 bytes for the last element.
    const size = rest > 64 ? (rest < 68 ? 60 : 64) : rest;
    if (size >= 4 && size < 12 && offset < 2048) {
      out[to++] = 1 | ((size - 4) << 2) | ((offset >> 8) << 5);
      out[to++] = offset & 0xff;
    } else {
      out[to++] = 2 | ((size - 1) << 2);
      out[to++] = offset & 0xff;
      out[to++] = offset >> 8;
    }
    rest -= size;
  }
  return to;
}
