// Extracts fields of a document from its bytes in one scan, each into its slot of a row.
import { asciiString, parseString } from './json-parse.ts';
import { isName, nameBytes, nextName, skipSpace, valueAt, valueEnd, valueStart } from './json-scan.ts';
import { stringText } from './json-text.ts';
import { RawJson, type Value } from './value.ts';

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openingBracket = 0x5b;
const openingBrace = 0x7b;

/** The fields to extract: one slot per path. */
export class FieldTree {
  /** The members to look for: those that are extracted, and those with nested fields that are. The other lists have the same order. */
  readonly names: readonly Uint8Array[];
  /** Absent: only nested fields are wanted. */
  readonly slots: readonly (number | undefined)[];
  /** Whether a string is extracted as its JSON text. */
  readonly isQuoted: readonly boolean[];
  readonly within: readonly (FieldTree | undefined)[];
  /** 1 for each length of a wanted name; longer ones share the last. This check alone skips most names of a document. */
  readonly lengths: Uint8Array;
  /** How many objects were scanned. */
  scans = 0;
  /** For each member the number of the last scan that found it. */
  readonly foundIn: Float64Array;

  constructor(paths: readonly FieldPath[]) {
    const byName = Map.groupBy(paths, ({ names: [name = ''] }) => name);
    this.names = [...byName.keys()].map(nameBytes);
    this.lengths = new Uint8Array(lengthMax + 1);
    for (const name of this.names) this.lengths[Math.min(name.length, lengthMax)] = 1;
    this.foundIn = new Float64Array(this.names.length);
    const lists = [...byName.values()];
    const wanted = lists.map((list) => list.find(({ names }) => names.length === 1));
    this.slots = wanted.map((path) => path?.slot);
    this.isQuoted = wanted.map((path) => path?.isQuoted === true);
    this.within = lists.map((list) => {
      const deeper = list.filter(({ names }) => names.length > 1);
      if (deeper.length === 0) return undefined;
      return new FieldTree(
        deeper.map(({ names, slot, isQuoted = false }) => ({ names: names.slice(1), slot, isQuoted })),
      );
    });
  }
}

export interface FieldPath {
  readonly names: readonly string[];
  readonly slot: number;
  /** A string is extracted as its JSON text, with quotes and escapes. */
  readonly isQuoted?: boolean;
}

const lengthMax = 63;

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
  if (bytes[at] !== openingBrace) return;
  at++;
  const { lengths, foundIn } = tree;
  const { length: count } = tree.names;
  const scan = ++tree.scans;
  for (let missing = count; missing > 0; ) {
    if (bytes[at] === comma) at++;
    if (bytes[at] !== quote) at = nextName(bytes, at, end);
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
    at++;
    // Without space around the colon, as documents mostly are.
    const isCompact = bytes[at] === colon && (bytes[at + 1] as number) > 0x20;
    at = isCompact ? at + 1 : valueStart(bytes, at, end);
    const isWanted = escapes || lengths[Math.min(nameEnd - nameStart, lengthMax)] === 1;
    const which = isWanted ? memberIndex(bytes, nameStart, nameEnd, tree, escapes) : -1;
    // The first of duplicate members counts.
    if (which >= 0 && foundIn[which] !== scan) {
      at = extractMember(tree, which, bytes, at, end, row);
      foundIn[which] = scan;
      missing--;
    } else at = valueEnd(bytes, at, end);
  }
}

/** The index of the member with this name, or -1. */
function memberIndex(
  bytes: Uint8Array,
  start: number,
  end: number,
  { names }: FieldTree,
  escapes: boolean,
): number {
  for (let which = 0; which < names.length; which++) {
    const name = names[which] as Uint8Array;
    if (escapes ? isName(bytes, start, end, name) : isPlainName(bytes, start, end, name)) return which;
  }
  return -1;
}

/** For a name without escapes. */
function isPlainName(bytes: Uint8Array, start: number, end: number, name: Uint8Array): boolean {
  const { length } = name;
  if (end - start !== length) return false;
  let at = 0;
  while (at < length && bytes[start + at] === name[at]) at++;
  return at === length;
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
  const slot = tree.slots[which];
  if (bytes[start] === quote) {
    const isQuoted = tree.isQuoted[which] as boolean;
    const plainEnd = plainStringEnd(bytes, start, end);
    const next = plainEnd < 0 ? valueEnd(bytes, start, end) : plainEnd;
    if (slot !== undefined)
      row[slot] =
        plainEnd < 0 ? stringWithin(bytes, start, next, isQuoted) : plainString(bytes, start, next, isQuoted);
    return next;
  }
  const next = valueEnd(bytes, start, end);
  if (slot !== undefined) row[slot] = valueWithin(bytes, start, next);
  const within = tree.within[which];
  if (within !== undefined) extract(bytes, start, next, within, row);
  return next;
}

function stringWithin(bytes: Uint8Array, start: number, end: number, isQuoted: boolean): string {
  const text = parseString(bytes, start, end);
  return isQuoted ? stringText(text) : text;
}

/** A plain string is its own JSON text. */
function plainString(bytes: Uint8Array, start: number, end: number, isQuoted: boolean): string {
  return isQuoted ? asciiString(bytes, start, end) : asciiString(bytes, start + 1, end - 1);
}

/** For longer strings it is faster to find the end first, and to look for escapes after that. */
const shortBytes = 32;

/** The position after a short string of ASCII without escapes and control characters; -1 for others. */
function plainStringEnd(bytes: Uint8Array, start: number, end: number): number {
  const near = Math.min(end, start + 1 + shortBytes);
  for (let at = start + 1; at < near; at++) {
    const byte = bytes[at] as number;
    if (byte === quote) return at + 1;
    if (byte === backslash || byte < 0x20 || byte >= 0x80) return -1;
  }
  return -1;
}

/** The value in `bytes[start, end)`, which is not a string. */
function valueWithin(bytes: Uint8Array, start: number, end: number): Value {
  const first = bytes[start];
  if (first === openingBrace || first === openingBracket) return ownJson(bytes, start, end);
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
