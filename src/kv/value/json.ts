// Decides whether bytes are one JSON text (RFC 8259, any value, strict UTF-8 inside strings). It runs on every
// stored value: one pass, no recursion, no allocation. Containers nested deeper than `jsonDepthMax` are not
// accepted as JSON, so such a value is stored as raw bytes.

export const jsonDepthMax = 1024;

/** True when the range is exactly one JSON text, white space around it allowed. */
export function isJson(bytes: Uint8Array, start: number, end: number): boolean {
  return jsonDepth(bytes, start, end) >= 0;
}

/** 0x20 for each open container that is an object, else 0. A call never yields, so one array serves all calls. */
const objects = new Uint8Array(jsonDepthMax + 1);

/** Nesting depth of the containers of a JSON text (a scalar: 0), or -1 when the range is not JSON. */
export function jsonDepth(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  let depth = 0;
  let deepest = 0;
  let inObject = 0;
  for (;;) {
    // Most texts have no white space here: checking before the call takes a tenth of the time.
    if (at < end && (bytes[at] as number) <= 0x20) at = spaceEnd(bytes, at, end);
    if (inObject !== 0) at = nameEnd(bytes, at, end);
    if (at < 0 || at >= end) return -1;
    const byte = bytes[at] as number;
    if (byte === 0x22) at = stringEnd(bytes, at, end);
    else if (byte === 0x7b || byte === 0x5b) {
      if (depth === jsonDepthMax) return -1;
      depth++;
      if (depth > deepest) deepest = depth;
      // The bytes of braces are those of brackets with this bit set.
      inObject = byte & 0x20;
      objects[depth] = inObject;
      at = spaceEnd(bytes, at + 1, end);
      if (at >= end || bytes[at] !== byte + 2) continue;
    } else at = byte >= 0x66 ? literalEnd(bytes, at, end) : numberEnd(bytes, at, end);
    if (at < 0) return -1;
    for (;;) {
      if (at < end && (bytes[at] as number) <= 0x20) at = spaceEnd(bytes, at, end);
      if (at >= end) return depth === 0 ? deepest : -1;
      const after = bytes[at++] as number;
      if (depth === 0) return -1;
      if (after === 0x2c) break;
      if (after !== (0x5d | inObject)) return -1;
      inObject = objects[--depth] as number;
    }
  }
}

/** The position after white space at `at`. */
export function spaceEnd(bytes: Uint8Array, at: number, end: number): number {
  let next = at;
  while (next < end && (bytes[next] as number) <= 0x20 && isSpace(bytes[next] as number)) next++;
  return next;
}

/** The position of the value after the member name, colon and white space at `at`, or -1. */
export function nameEnd(bytes: Uint8Array, at: number, end: number): number {
  if (at >= end || bytes[at] !== 0x22) return -1;
  const name = stringEnd(bytes, at, end);
  if (name < 0) return -1;
  const colon = spaceEnd(bytes, name, end);
  if (colon >= end || bytes[colon] !== 0x3a) return -1;
  return spaceEnd(bytes, colon + 1, end);
}

export function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** The position after the closing quote of the string whose opening quote is at `at`, or -1. */
export function stringEnd(bytes: Uint8Array, at: number, end: number): number {
  for (let next = at + 1; next < end; next++) {
    const byte = bytes[next] as number;
    if (byte === 0x22) return next + 1;
    if (byte < 0x20 || byte >= 0x80 || byte === 0x5c) return oddStringEnd(bytes, next, end);
  }
  return -1;
}

/** The slow path of `stringEnd`, from the first escape or non-ASCII character: separate to keep the common loop small. */
function oddStringEnd(bytes: Uint8Array, at: number, end: number): number {
  let next = at;
  while (next < end) {
    const byte = bytes[next] as number;
    if (byte === 0x22) return next + 1;
    if (byte === 0x5c) next = escapeEnd(bytes, next, end);
    else if (byte >= 0x80) next = characterEnd(bytes, next, end);
    else if (byte >= 0x20) next++;
    else return -1;
    if (next < 0) return -1;
  }
  return -1;
}

function escapeEnd(bytes: Uint8Array, at: number, end: number): number {
  if (at + 1 >= end) return -1;
  switch (bytes[at + 1]) {
    case 0x22: // "
    case 0x5c: // \
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return at + 2;
    case 0x75:
      if (at + 6 > end) return -1;
      for (let i = at + 2; i < at + 6; i++) if (!isHexDigit(bytes[i] as number)) return -1;
      return at + 6;
    default:
      return -1;
  }
}

function isHexDigit(byte: number): boolean {
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}

/** The position after a multi-byte UTF-8 character (shortest form, no surrogates, below U+110000), or -1. */
function characterEnd(bytes: Uint8Array, at: number, end: number): number {
  const lead = bytes[at] as number;
  if (lead < 0xc2 || lead > 0xf4) return -1;
  if (at + 1 >= end) return -1;
  const second = bytes[at + 1] as number;
  if (lead < 0xe0) return (second & 0xc0) === 0x80 ? at + 2 : -1;
  const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  if (second < low || second > high) return -1;
  const length = lead < 0xf0 ? 3 : 4;
  if (at + length > end) return -1;
  for (let i = at + 2; i < at + length; i++) if (((bytes[i] as number) & 0xc0) !== 0x80) return -1;
  return at + length;
}

/** True when the range is valid UTF-8 of any characters, control characters included. */
export function isUtf8Range(bytes: Uint8Array, start: number, end: number): boolean {
  let at = start;
  while (at < end) {
    if ((bytes[at] as number) < 0x80) at++;
    else if ((at = characterEnd(bytes, at, end)) < 0) return false;
  }
  return true;
}

/** The position after the number at `at`, or -1. */
function numberEnd(bytes: Uint8Array, at: number, end: number): number {
  let next = bytes[at] === 0x2d ? at + 1 : at;
  if (next < end && bytes[next] === 0x30) next++;
  else if ((next = digitsEnd(bytes, next, end)) < 0) return -1;
  if (next < end && bytes[next] === 0x2e) {
    next = digitsEnd(bytes, next + 1, end);
    if (next < 0) return -1;
  }
  if (next < end && ((bytes[next] as number) | 0x20) === 0x65) {
    next++;
    if (next < end && (bytes[next] === 0x2b || bytes[next] === 0x2d)) next++;
    return digitsEnd(bytes, next, end);
  }
  return next;
}

function digitsEnd(bytes: Uint8Array, at: number, end: number): number {
  let next = at;
  while (next < end && isDigit(bytes[next] as number)) next++;
  return next === at ? -1 : next;
}

export function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** The position after `true`, `false` or `null` at `at`, or -1. */
function literalEnd(bytes: Uint8Array, at: number, end: number): number {
  const first = bytes[at];
  if (first === 0x74 && at + 4 <= end && isTail(bytes, at, 0x72, 0x75, 0x65)) return at + 4;
  if (first === 0x6e && at + 4 <= end && isTail(bytes, at, 0x75, 0x6c, 0x6c)) return at + 4;
  if (first === 0x66 && at + 5 <= end && bytes[at + 1] === 0x61 && isTail(bytes, at + 1, 0x6c, 0x73, 0x65))
    return at + 5;
  return -1;
}

function isTail(bytes: Uint8Array, at: number, a: number, b: number, c: number): boolean {
  return bytes[at + 1] === a && bytes[at + 2] === b && bytes[at + 3] === c;
}
