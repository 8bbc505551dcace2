// The xattr section in front of a value's body (datatype bit 4). Layout, integers big-endian:
//   u32 bytes of all pairs; each pair: u32 bytes of the rest of it, key, 0x00, JSON value, 0x00; then the body.
// Sections that come from clients pass `isXattrSection` first; everything else here walks sections known to be good.
// Functions take and return a section as a Buffer with its u32 in front; an empty Buffer means no xattrs. A system xattr has a key
// that starts with `_`.
import { readU32 } from '#wire/bytes.ts';
import { bodyStart, XattrWalk } from '#wire/xattr-section.ts';
import { isJson, isUtf8Range } from './json.ts';

export const xattrKeyBytesMax = 15;

/** Limit of the system xattrs of a value, with the u32 in front of the section. */
export const xattrBytesMax = 1024 * 1024;
/** Limit of a document's body with its user xattrs, uncompressed. */
export const bodyBytesMax = 20 << 20;

/** Bytes of the u32 in front of a section. */
const sectionHeadBytes = 4;

/** Whether an uncompressed value exceeds one of the limits: `systemBytes` of its bytes are system xattrs. */
export function exceedsLimits(bytes: number, systemBytes: number, hasXattrs: boolean): boolean {
  const system = hasXattrs ? systemBytes + sectionHeadBytes : 0;
  return system > xattrBytesMax || bytes - system > bodyBytesMax;
}

const noSection = Buffer.alloc(0);

/** Whether a value from a client begins with a well-formed xattr section: lengths, keys, JSON values, no key twice. */
export function isXattrSection(bytes: Buffer, start: number, end: number): boolean {
  const sectionEnd = bodyStart(bytes, start, end);
  if (sectionEnd < 0) return false;
  const keys = new Set<string>();
  let at = start + 4;
  while (at < sectionEnd) {
    if (sectionEnd - at < 7) return false;
    const pairEnd = at + 4 + readU32(bytes, at);
    if (pairEnd > sectionEnd || bytes[pairEnd - 1] !== 0) return false;
    const keyEnd = bytes.indexOf(0, at + 4);
    if (keyEnd >= pairEnd - 1 || !isXattrKey(bytes, at + 4, keyEnd)) return false;
    if (!isJson(bytes, keyEnd + 1, pairEnd - 1)) return false;
    const key = bytes.toString('latin1', at + 4, keyEnd);
    if (keys.has(key)) return false;
    keys.add(key);
    at = pairEnd;
  }
  return true;
}

/**
 * Whether a range may be the key of a stored xattr: 1 to 15 bytes of UTF-8 without NUL, `.` and `[`, not starting
 * with a control character or with punctuation other than `_`, and not `_` alone.
 */
export function isXattrKey(bytes: Uint8Array, start: number, end: number): boolean {
  const length = end - start;
  if (length === 0 || length > xattrKeyBytesMax) return false;
  const first = bytes[start] as number;
  if (first === 0x5f ? length === 1 : isControlOrPunctuation(first)) return false;
  for (let at = start; at < end; at++) {
    const byte = bytes[at];
    if (byte === 0 || byte === 0x2e || byte === 0x5b) return false;
  }
  return isUtf8Range(bytes, start, end);
}

function isControlOrPunctuation(byte: number): boolean {
  if (byte < 0x20 || byte === 0x7f) return true;
  return (
    (byte > 0x20 && byte < 0x30) ||
    (byte > 0x39 && byte < 0x41) ||
    (byte > 0x5a && byte < 0x61) ||
    (byte > 0x7a && byte < 0x7f)
  );
}

/** One walk for all calls below: none is in use after its call returns. */
const walk = new XattrWalk();

/** A section with the key set: replaced when it exists, else appended. */
export function setXattr(section: Buffer, key: Uint8Array, value: Uint8Array): Buffer {
  const pair = Buffer.allocUnsafe(4 + key.length + value.length + 2);
  pair.writeUInt32BE(pair.length - 4);
  pair.set(key, 4);
  pair[4 + key.length] = 0;
  pair.set(value, 5 + key.length);
  pair[pair.length - 1] = 0;
  walk.begin(section, 0, section.length);
  while (walk.next()) if (walk.isKey(key)) return splice(section, walk.pairStart, walk.pairEnd, pair);
  return section.length === 0
    ? splice(Buffer.alloc(4), 4, 4, pair)
    : splice(section, section.length, section.length, pair);
}

/** A section without the key; empty when no pair is left. */
export function removeXattr(section: Buffer, key: Uint8Array): Buffer {
  walk.begin(section, 0, section.length);
  while (walk.next()) if (walk.isKey(key)) return splice(section, walk.pairStart, walk.pairEnd, noSection);
  return section;
}

function splice(section: Buffer, start: number, end: number, pair: Buffer): Buffer {
  const length = section.length - (end - start) + pair.length;
  if (length === 4) return noSection;
  const spliced = Buffer.concat([section.subarray(0, start), pair, section.subarray(end)], length);
  spliced.writeUInt32BE(length - 4);
  return spliced;
}

/** Bytes that the system xattrs of a value take, without the u32 in front. */
export function systemXattrBytes(bytes: Uint8Array, start: number, end: number): number {
  let total = 0;
  walk.begin(bytes, start, end);
  while (walk.next()) if (walk.isSystem) total += walk.pairEnd - walk.pairStart;
  return total;
}

/** A section of the system xattrs alone, which a tombstone keeps. Empty when there are none. */
export function systemXattrs(bytes: Buffer, start: number, end: number): Buffer {
  const total = systemXattrBytes(bytes, start, end);
  if (total === 0) return noSection;
  const section = Buffer.allocUnsafe(4 + total);
  let to = section.writeUInt32BE(total);
  walk.begin(bytes, start, end);
  while (walk.next()) if (walk.isSystem) to += bytes.copy(section, to, walk.pairStart, walk.pairEnd);
  return section;
}
