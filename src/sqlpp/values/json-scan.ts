// Finds fields of JSON text by a scan over its bytes, without parsing the rest. The text must be valid JSON, as the data
// service stores it; for other text the result is MISSING or arbitrary, but every loop ends. Of duplicate members the first
// counts.
import { parseNumber, parseString } from './json-parse.ts';
import { RawJson, type Value } from './value.ts';

const quote = 0x22;
const backslash = 0x5c;

/** From this length on a search outside of JavaScript is faster than a loop over bytes, for 640 bytes by a factor of ten. */
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
  if (bytes[at] !== 0x7b) return undefined;
  at++;
  while (at < end) {
    at = nextName(bytes, at, end);
    if (at >= end) return undefined;
    const nameStart = at + 1;
    const nameEnd = stringEnd(bytes, at, end) - 1;
    at = valueStart(bytes, nameEnd + 1, end);
    if (isName(bytes, nameStart, nameEnd, name)) return valueAt(bytes, at, end);
    at = valueEnd(bytes, at, end);
  }
  return undefined;
}

/** The names of an object's members in order, repeated ones too; none if the text is not an object. */
export function memberNames({ bytes, start, end }: RawJson): string[] {
  const names: string[] = [];
  let at = skipSpace(bytes, start, end);
  if (bytes[at] !== 0x7b) return names;
  at = nextName(bytes, at + 1, end);
  while (at < end) {
    const nameEnd = stringEnd(bytes, at, end);
    names.push(parseString(bytes, at, nameEnd));
    at = valueEnd(bytes, valueStart(bytes, nameEnd, end), end);
    at = nextName(bytes, at, end);
  }
  return names;
}

/** The position of the next name's quote, or `end` after the last. */
function nextName(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at] !== quote) {
    if (bytes[at] === 0x7d) return end;
    at++;
  }
  return at;
}

/** Skips from the end of a name to its value. */
function valueStart(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at] !== 0x3a) at++;
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
  if (bytes[at] !== 0x5b) return undefined;
  at = skipSpace(bytes, at + 1, end);
  for (let count = 0; at < end && bytes[at] !== 0x5d; count++) {
    if (count === position) return valueAt(bytes, at, end);
    at = skipSpace(bytes, valueEnd(bytes, at, end), end);
    if (bytes[at] === 0x2c) at = skipSpace(bytes, at + 1, end);
  }
  return undefined;
}

/** All items of an array, nested values unparsed; undefined if the text is not an array. */
export function itemsOf(raw: RawJson): Value[] | undefined {
  const { bytes, end } = raw;
  let at = skipSpace(bytes, raw.start, end);
  if (bytes[at] !== 0x5b) return undefined;
  const items: Value[] = [];
  at = skipSpace(bytes, at + 1, end);
  while (at < end && bytes[at] !== 0x5d) {
    items.push(valueAt(bytes, at, end));
    const next = valueEnd(bytes, at, end);
    at = skipSpace(bytes, Math.max(next, at + 1), end);
    if (bytes[at] === 0x2c) at = skipSpace(bytes, at + 1, end);
  }
  return items;
}

/** Names and values of an object, nested values unparsed; undefined if the text is not an object. */
export function membersOf(raw: RawJson): [name: string, value: Value][] | undefined {
  const { bytes, end } = raw;
  let at = skipSpace(bytes, raw.start, end);
  if (bytes[at] !== 0x7b) return undefined;
  const members: [string, Value][] = [];
  at++;
  while (at < end) {
    while (at < end && bytes[at] !== quote) {
      if (bytes[at] === 0x7d) return members;
      at++;
    }
    const nameEnd = stringEnd(bytes, at, end);
    const name = parseString(bytes, at, nameEnd);
    at = nameEnd;
    while (at < end && bytes[at] !== 0x3a) at++;
    at = skipSpace(bytes, at + 1, end);
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
    case 0x7b:
    case 0x5b:
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
  return first === 0x7b || first === 0x5b ? containerEnd(bytes, start, end) : scalarEnd(bytes, start, end);
}

/** One loop over all nested values: it takes most of the time of a scan. */
function containerEnd(bytes: Uint8Array, start: number, end: number): number {
  let depth = 0;
  let at = start;
  while (at < end) {
    const byte = bytes[at++] as number;
    if (byte === quote) at = stringEnd(bytes, at - 1, end);
    else if (byte === 0x7b || byte === 0x5b) depth++;
    else if ((byte === 0x7d || byte === 0x5d) && --depth === 0) return at;
  }
  return end;
}

function scalarEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start + 1;
  for (; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === 0x2c || byte === 0x7d || byte === 0x5d || byte <= 0x20) break;
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

function skipSpace(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && (bytes[at] as number) <= 0x20) at++;
  return at;
}

function isName(bytes: Uint8Array, start: number, end: number, name: Uint8Array): boolean {
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

/** Fields to extract from documents in one scan: one slot per path. */
export class FieldTree {
  /** One entry per wanted member, or member with wanted fields. */
  readonly names: readonly Uint8Array[];
  /** Absent: only nested fields are wanted. */
  readonly slots: readonly (number | undefined)[];
  readonly within: readonly (FieldTree | undefined)[];
  /** 1 for each length of a wanted name; longer ones share the last. This check alone skips most names of a document. */
  readonly lengths: Uint8Array;

  constructor(paths: readonly FieldPath[]) {
    const byName = Map.groupBy(paths, ({ names: [name = ''] }) => name);
    this.names = [...byName.keys()].map(nameBytes);
    this.lengths = new Uint8Array(lengthMax + 1);
    for (const name of this.names) this.lengths[Math.min(name.length, lengthMax)] = 1;
    const lists = [...byName.values()];
    this.slots = lists.map((list) => list.find(({ names }) => names.length === 1)?.slot);
    this.within = lists.map((list) => {
      const deeper = list.filter(({ names }) => names.length > 1);
      if (deeper.length === 0) return undefined;
      return new FieldTree(deeper.map(({ names, slot }) => ({ names: names.slice(1), slot })));
    });
  }
}

export interface FieldPath {
  readonly names: readonly string[];
  readonly slot: number;
}

const lengthMax = 63;

export function fieldTree(paths: readonly FieldPath[]): FieldTree {
  return new FieldTree(paths);
}

/** Writes the value of each path into its slot of the row, MISSING for absent fields. */
export function extractFields(raw: RawJson, tree: FieldTree, row: Value[]): void {
  clear(tree, row);
  extract(raw.bytes, raw.start, raw.end, tree, row);
}

function clear({ slots, within }: FieldTree, row: Value[]): void {
  for (let which = 0; which < slots.length; which++) {
    const slot = slots[which];
    if (slot !== undefined) row[slot] = undefined;
    const deeper = within[which];
    if (deeper !== undefined) clear(deeper, row);
  }
}

function extract(bytes: Uint8Array, start: number, end: number, tree: FieldTree, row: Value[]): void {
  let at = skipSpace(bytes, start, end);
  if (bytes[at] !== 0x7b) return;
  at++;
  const { lengths } = tree;
  const { length: count } = tree.names;
  // A bit for each of the first 31 found members: of duplicates the first counts.
  let found = 0;
  for (let missing = count; missing > 0; ) {
    at = nextName(bytes, at, end);
    if (at >= end) return;
    const nameStart = at + 1;
    let escapes = false;
    for (at = nameStart; at < end; at++) {
      const byte = bytes[at];
      if (byte === quote) break;
      if (byte !== backslash) continue;
      escapes = true;
      at++;
    }
    const nameEnd = at;
    at = valueStart(bytes, at + 1, end);
    const length = nameEnd - nameStart;
    const which =
      escapes || lengths[Math.min(length, lengthMax)] === 1
        ? memberIndex(bytes, nameStart, nameEnd, tree)
        : -1;
    if (which >= 0 && (which >= 31 || (found & (1 << which)) === 0)) {
      at = extractMember(tree, which, bytes, at, end, row);
      if (which >= 31) continue;
      found |= 1 << which;
      missing--;
    } else at = valueEnd(bytes, at, end);
  }
}

/** The index of the member with this name, or -1. */
function memberIndex(bytes: Uint8Array, start: number, end: number, { names }: FieldTree): number {
  for (let which = 0; which < names.length; which++) {
    if (isName(bytes, start, end, names[which] as Uint8Array)) return which;
  }
  return -1;
}

/** Returns the position after the value. */
function extractMember(
  tree: FieldTree,
  which: number,
  bytes: Uint8Array,
  start: number,
  end: number,
  row: Value[],
): number {
  const next = valueEnd(bytes, start, end);
  const slot = tree.slots[which];
  if (slot !== undefined) row[slot] ??= valueWithin(bytes, start, next);
  const within = tree.within[which];
  if (within !== undefined) extract(bytes, start, next, within, row);
  return next;
}

/** The value in `bytes[start, end)`. */
function valueWithin(bytes: Uint8Array, start: number, end: number): Value {
  const first = bytes[start];
  if (first === quote) return parseString(bytes, start, end);
  if (first === 0x7b || first === 0x5b) return ownJson(bytes, start, end);
  return valueAt(bytes, start, end);
}

/** A buffer of more bytes holds many documents. */
const singleBytesMax = 16 << 10;

/** Unparsed text that may be kept for long. Text in a buffer with many documents is copied, so that it does not keep the whole buffer in memory. */
export function ownJson(bytes: Uint8Array, start: number, end: number): RawJson {
  const isPart = bytes.buffer.byteLength > singleBytesMax && 2 * (end - start) < bytes.buffer.byteLength;
  if (!isPart) return new RawJson(bytes, start, end);
  const copy = new Uint8Array(bytes.subarray(start, end));
  return new RawJson(copy, 0, copy.length);
}
