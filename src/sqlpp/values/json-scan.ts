// Fields of JSON text found by a scan over its bytes, without parsing what stands around them. The text is valid JSON, as the data
// service stores it; of anything else the result is MISSING or arbitrary, but every loop ends. Of members with the same name the first
// counts.
import { parseNumber, parseString } from './json-parse.ts';
import { RawJson, type Value } from './value.ts';

const quote = 0x22;
const backslash = 0x5c;

const encoder = new TextEncoder();

/** A name as it stands in JSON text without escapes. */
export function nameBytes(name: string): Uint8Array {
  return encoder.encode(name);
}

/** The value of a member of an object; MISSING if there is none, or if the text is no object. */
export function memberOf(raw: RawJson, name: Uint8Array): Value {
  const { bytes, end } = raw;
  let at = skipSpace(bytes, raw.start, end);
  if (bytes[at] !== 0x7b) return undefined;
  at++;
  while (at < end) {
    // At the name of a member, or at the end of the object.
    while (at < end && bytes[at] !== quote) {
      if (bytes[at] === 0x7d) return undefined;
      at++;
    }
    const nameStart = at + 1;
    const nameEnd = stringEnd(bytes, at, end) - 1;
    at = nameEnd + 1;
    while (at < end && (bytes[at] as number) !== 0x3a) at++;
    at = skipSpace(bytes, at + 1, end);
    if (isName(bytes, nameStart, nameEnd, name)) return valueAt(bytes, at, end);
    at = valueEnd(bytes, at, end);
  }
  return undefined;
}

/** The item of an array; negative positions count from the end. MISSING if there is none, or if the text is no array. */
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

/** All items of an array, not parsed further; undefined if the text is no array. */
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

/** Names and values of an object, not parsed further; undefined if the text is no object. */
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

/** A scalar parsed, an object or an array as text. */
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

/** Behind the value that begins at `start`. */
export function valueEnd(bytes: Uint8Array, start: number, end: number): number {
  const first = bytes[start];
  if (first === quote) return stringEnd(bytes, start, end);
  if (first !== 0x7b && first !== 0x5b) return scalarEnd(bytes, start, end);
  let depth = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === quote) at = stringEnd(bytes, at, end) - 1;
    else if (byte === 0x7b || byte === 0x5b) depth++;
    else if ((byte === 0x7d || byte === 0x5d) && --depth === 0) return at + 1;
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

/** Behind the closing quote of the string that begins at `start`. */
function stringEnd(bytes: Uint8Array, start: number, end: number): number {
  for (let at = start + 1; at < end; at++) {
    const byte = bytes[at];
    if (byte === quote) return at + 1;
    if (byte === backslash) at++;
  }
  return end;
}

function skipSpace(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && (bytes[at] as number) <= 0x20) at++;
  return at;
}

function isName(bytes: Uint8Array, start: number, end: number, name: Uint8Array): boolean {
  const { length } = name;
  if (end - start === length) {
    let at = 0;
    while (at < length && bytes[start + at] === name[at]) at++;
    // Equal bytes with an escape among them stand for another name.
    if (at === length) return !hasEscape(bytes, start, end);
  }
  // With an escape it is longer than the name it stands for.
  return end - start > length && hasEscape(bytes, start, end) && isEscapedName(bytes, start, end, name);
}

function hasEscape(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === backslash) return true;
  return false;
}

function isEscapedName(bytes: Uint8Array, start: number, end: number, name: Uint8Array): boolean {
  const written = encoder.encode(parseString(bytes, start - 1, end + 1));
  return written.length === name.length && written.every((byte, at) => byte === name[at]);
}

/** Fields to take out of documents in one scan: a slot of its own for each path. */
export interface FieldTree {
  readonly members: readonly {
    readonly name: Uint8Array;
    /** Left out: only fields within are wanted. */
    readonly slot: number | undefined;
    readonly within: FieldTree | undefined;
  }[];
}

export function fieldTree(
  paths: readonly { readonly names: readonly string[]; readonly slot: number }[],
): FieldTree {
  const byName = new Map<string, { names: readonly string[]; slot: number }[]>();
  for (const path of paths) {
    const [name = '', ...names] = path.names;
    byName.set(name, [...(byName.get(name) ?? []), { names, slot: path.slot }]);
  }
  return {
    members: [...byName].map(([name, list]) => {
      const within = list.filter(({ names }) => names.length > 0);
      return {
        name: nameBytes(name),
        slot: list.find(({ names }) => names.length === 0)?.slot,
        within: within.length > 0 ? fieldTree(within) : undefined,
      };
    }),
  };
}

/** Writes the value of each path into its slot of the row; slots of fields that are MISSING are set so. */
export function extractFields(raw: RawJson, tree: FieldTree, row: Value[]): void {
  clear(tree, row);
  extract(raw.bytes, raw.start, raw.end, tree, row);
}

function clear({ members }: FieldTree, row: Value[]): void {
  for (const { slot, within } of members) {
    if (slot !== undefined) row[slot] = undefined;
    if (within !== undefined) clear(within, row);
  }
}

function extract(bytes: Uint8Array, start: number, end: number, { members }: FieldTree, row: Value[]): void {
  let at = skipSpace(bytes, start, end);
  if (bytes[at] !== 0x7b) return;
  at++;
  // One bit for each of the first 31 members that was found: the first of several with the same name counts.
  let found = 0;
  for (let missing = members.length; missing > 0; ) {
    while (at < end && bytes[at] !== quote) {
      if (bytes[at] === 0x7d) return;
      at++;
    }
    if (at >= end) return;
    const nameStart = at + 1;
    at = stringEnd(bytes, at, end);
    const nameEnd = at - 1;
    while (at < end && bytes[at] !== 0x3a) at++;
    at = skipSpace(bytes, at + 1, end);
    let next = -1;
    for (let which = 0; which < members.length; which++) {
      const bit = which < 31 ? 1 << which : 0;
      const member = members[which] as FieldTree['members'][number];
      if ((found & bit) !== 0 || !isName(bytes, nameStart, nameEnd, member.name)) continue;
      found |= bit;
      missing--;
      if (member.slot !== undefined) row[member.slot] ??= valueAt(bytes, at, end);
      if (member.within !== undefined) {
        next = valueEnd(bytes, at, end);
        extract(bytes, at, next, member.within, row);
      }
      break;
    }
    at = next < 0 ? valueEnd(bytes, at, end) : next;
  }
}
