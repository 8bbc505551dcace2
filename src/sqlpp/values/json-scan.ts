// Finds fields of JSON text by a scan over its bytes, without parsing the rest. The text must be valid JSON, as the data
// service stores it; for other text the result is MISSING or arbitrary, but every loop ends. Of duplicate members the first
// counts.
import { parseNumber, parseString } from './json-parse.ts';
import { countText } from './step-limit.ts';
import { RawJson, type Value } from './value.ts';

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openingBracket = 0x5b;
const closingBracket = 0x5d;
const openingBrace = 0x7b;
const closingBrace = 0x7d;

/** From this length on a native search is faster than a loop over bytes, for 640 bytes by a factor of ten. */
const nearBytes = 32;
const { indexOf } = Buffer.prototype as unknown as {
  indexOf(this: Uint8Array, byte: number, from: number): number;
};

const encoder = new TextEncoder();

/** The bytes of a name in JSON text without escapes. */
export function nameBytes(name: string): Uint8Array {
  return encoder.encode(name);
}

/** The value of a member; MISSING without the member, or if the text is not an object. */
export function memberOf(raw: RawJson, name: Uint8Array): Value {
  const { bytes, end } = raw;
  let at = skipSpace(bytes, raw.start, end);
  if (bytes[at] !== openingBrace) return undefined;
  at++;
  while (at < end) {
    at = nextName(bytes, at, end);
    if (at >= end) break;
    const nameStart = at + 1;
    const nameEnd = stringEnd(bytes, at, end) - 1;
    at = valueStart(bytes, nameEnd + 1, end);
    if (isName(bytes, nameStart, nameEnd, name)) {
      countText(at - raw.start);
      return valueAt(bytes, at, end);
    }
    at = valueEnd(bytes, at, end);
  }
  countText(end - raw.start);
  return undefined;
}

/** The names of an object's members in order, duplicates too; none if the text is not an object. */
export function memberNames({ bytes, start, end }: RawJson): string[] {
  const names: string[] = [];
  let at = skipSpace(bytes, start, end);
  if (bytes[at] !== openingBrace) return names;
  at = nextName(bytes, at + 1, end);
  while (at < end) {
    const nameEnd = stringEnd(bytes, at, end);
    names.push(parseString(bytes, at, nameEnd));
    at = valueEnd(bytes, valueStart(bytes, nameEnd, end), end);
    at = nextName(bytes, at, end);
  }
  return names;
}

/** The number of an object's members, duplicates too; 0 if the text is not an object. */
export function memberCount({ bytes, start, end }: RawJson): number {
  let count = 0;
  let at = skipSpace(bytes, start, end);
  if (bytes[at] !== openingBrace) return count;
  at = nextName(bytes, at + 1, end);
  while (at < end) {
    count++;
    const nameEnd = stringEnd(bytes, at, end);
    at = valueEnd(bytes, valueStart(bytes, nameEnd, end), end);
    at = nextName(bytes, at, end);
  }
  return count;
}

/** The position of the next name's quote, or `end` after the last. */
export function nextName(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at] !== quote) {
    if (bytes[at] === closingBrace) return end;
    at++;
  }
  return at;
}

/** Skips from the end of a name to its value. */
export function valueStart(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at] !== colon) at++;
  return skipSpace(bytes, at + 1, end);
}

/** The item of an array; negative positions count from the end. MISSING without the item, or if the text is not an array. */
export function itemOf(raw: RawJson, position: number): Value {
  if (position < 0) {
    const items = itemsOf(raw);
    return items?.[items.length + position];
  }
  const { bytes, end } = raw;
  let at = skipSpace(bytes, raw.start, end);
  if (bytes[at] !== openingBracket) return undefined;
  at = skipSpace(bytes, at + 1, end);
  for (let count = 0; at < end && bytes[at] !== closingBracket; count++) {
    if (count === position) {
      countText(at - raw.start);
      return valueAt(bytes, at, end);
    }
    at = skipSpace(bytes, valueEnd(bytes, at, end), end);
    if (bytes[at] === comma) at = skipSpace(bytes, at + 1, end);
  }
  return undefined;
}

/** The number of an array's items; 0 if the text is not an array. */
export function itemCount({ bytes, start, end }: RawJson): number {
  let count = 0;
  let at = skipSpace(bytes, start, end);
  if (bytes[at] !== openingBracket) return count;
  at = skipSpace(bytes, at + 1, end);
  while (at < end && bytes[at] !== closingBracket) {
    count++;
    at = skipSpace(bytes, Math.max(valueEnd(bytes, at, end), at + 1), end);
    if (bytes[at] === comma) at = skipSpace(bytes, at + 1, end);
  }
  return count;
}

/** All items of an array, nested values unparsed; undefined if the text is not an array. */
export function itemsOf(raw: RawJson): Value[] | undefined {
  const { bytes, end } = raw;
  let at = skipSpace(bytes, raw.start, end);
  if (bytes[at] !== openingBracket) return undefined;
  const items: Value[] = [];
  at = skipSpace(bytes, at + 1, end);
  while (at < end && bytes[at] !== closingBracket) {
    items.push(valueAt(bytes, at, end));
    const next = valueEnd(bytes, at, end);
    at = skipSpace(bytes, Math.max(next, at + 1), end);
    if (bytes[at] === comma) at = skipSpace(bytes, at + 1, end);
  }
  return items;
}

/** Names and values of an object, nested values unparsed; undefined if the text is not an object. */
export function membersOf(raw: RawJson): [name: string, value: Value][] | undefined {
  const { bytes, end } = raw;
  let at = skipSpace(bytes, raw.start, end);
  if (bytes[at] !== openingBrace) return undefined;
  const members: [string, Value][] = [];
  at++;
  while (at < end) {
    at = nextName(bytes, at, end);
    if (at >= end) break;
    const nameEnd = stringEnd(bytes, at, end);
    const name = parseString(bytes, at, nameEnd);
    at = valueStart(bytes, nameEnd, end);
    if (at >= end) break;
    members.push([name, valueAt(bytes, at, end)]);
    at = valueEnd(bytes, at, end);
  }
  return members;
}

/** A parsed scalar, or an object or array as text. */
export function valueAt(bytes: Uint8Array, start: number, end: number): Value {
  switch (bytes[start]) {
    case quote:
      return parseString(bytes, start, stringEnd(bytes, start, end));
    case openingBrace:
    case openingBracket:
      return new RawJson(bytes, start, valueEnd(bytes, start, end));
    case 0x74:
      return true;
    case 0x66:
      return false;
    case 0x6e:
      return null;
    default:
      return start < end ? parseNumber(bytes, start, scalarEnd(bytes, start, end)) : undefined;
  }
}

/** The position after the value that begins at `start`. */
export function valueEnd(bytes: Uint8Array, start: number, end: number): number {
  const first = bytes[start];
  if (first === quote) return stringEnd(bytes, start, end);
  return first === openingBrace || first === openingBracket
    ? containerEnd(bytes, start, end)
    : scalarEnd(bytes, start, end);
}

/** One loop over all nested values: it takes most of the time of a scan. */
function containerEnd(bytes: Uint8Array, start: number, end: number): number {
  let depth = 0;
  let at = start;
  while (at < end) {
    const byte = bytes[at++] as number;
    if (byte === quote) at = stringEnd(bytes, at - 1, end);
    else if (byte === openingBrace || byte === openingBracket) depth++;
    else if ((byte === closingBrace || byte === closingBracket) && --depth === 0) return at;
  }
  return end;
}

/** Where the arrays and objects begin that begin in `bytes[start, end)` and do not end there; `start` is not within a string. */
export function openContainers(bytes: Uint8Array, start: number, end: number): number[] {
  const open: number[] = [];
  for (let at = start; at < end; ) {
    const byte = bytes[at++] as number;
    if (byte === quote) at = stringEnd(bytes, at - 1, end);
    else if (byte === openingBrace || byte === openingBracket) open.push(at - 1);
    else if (byte === closingBrace || byte === closingBracket) open.pop();
  }
  return open;
}

function scalarEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start + 1;
  for (; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === comma || byte === closingBrace || byte === closingBracket || byte <= 0x20) break;
  }
  return at;
}

/** The position after the closing quote of the string that begins at `start`. */
function stringEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start + 1;
  for (;;) {
    const near = Math.min(end, at + nearBytes);
    for (; at < near; at++) {
      const byte = bytes[at];
      if (byte === quote) return at + 1;
      if (byte === backslash) at++;
    }
    if (at >= end) return end;
    const found = indexOf.call(bytes, quote, at);
    if (found < 0 || found >= end) return end;
    if (!isEscaped(bytes, found, at)) return found + 1;
    at = found + 1;
  }
}

/** Whether an odd number of backslashes is before the position; the one at `from` is not escaped itself. */
function isEscaped(bytes: Uint8Array, position: number, from: number): boolean {
  let first = position;
  while (first > from && bytes[first - 1] === backslash) first--;
  return (position - first) % 2 === 1;
}

export function skipSpace(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && (bytes[at] as number) <= 0x20) at++;
  return at;
}

export function isName(bytes: Uint8Array, start: number, end: number, name: Uint8Array): boolean {
  const { length } = name;
  const written = end - start;
  if (written < length) return false;
  if (written > length) {
    // An escaped name is longer than its unescaped form.
    return hasEscape(bytes, start, end) && isEscapedName(bytes, start, end, name);
  }
  let at = 0;
  while (at < length && bytes[start + at] === name[at]) at++;
  // Equal bytes that contain an escape are another name.
  return at === length && !hasEscape(bytes, start, end);
}

function hasEscape(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === backslash) return true;
  return false;
}

function isEscapedName(bytes: Uint8Array, start: number, end: number, name: Uint8Array): boolean {
  const written = encoder.encode(parseString(bytes, start - 1, end + 1));
  return written.length === name.length && written.every((byte, at) => byte === name[at]);
}
