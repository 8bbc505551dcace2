// Finds a path in the bytes of a JSON text without parsing its values. The text is a stored document that was validated as JSON;
// if it is not JSON after all, the result is "not JSON", never an exception.
import { Status } from '#wire/status.ts';
import { spaceEnd, stringEnd, nameEnd as valueAfterName } from '../value/json.ts';
import { levelsMax, type PathComponent, unescapeName } from './path.ts';

/** Result of following a path. */
export interface Match {
  /** Success, also if the end of the path is missing; else mismatch, too deep or not JSON. */
  status: Status;
  isFound: boolean;
  /** The range of the value that the path names, if found. */
  valueStart: number;
  valueEnd: number;
  /** Start of the value's entry in its container: the quote of its name, else the value itself. */
  entryStart: number;
  /** Number of components of the path that exist. */
  level: number;
  /** If not found: the container without component `level`, and its number of entries. */
  containerStart: number;
  containerEnd: number;
  containerCount: number;
}

export function newMatch(): Match {
  return {
    status: Status.success,
    isFound: false,
    valueStart: 0,
    valueEnd: 0,
    entryStart: 0,
    level: 0,
    containerStart: 0,
    containerEnd: 0,
    containerCount: 0,
  };
}

/** Returned instead of a position in a text that is not JSON, or too deep. */
export const broken = -1;
export const tooDeep = -2;

/** Follows the path from the root of the text. */
export function locate(text: Buffer, path: readonly PathComponent[], match: Match): void {
  match.isFound = false;
  match.level = 0;
  match.entryStart = spaceEnd(text, 0, text.length);
  let at = match.entryStart;
  while (match.level < path.length) {
    at = enter(text, at, path[match.level] as PathComponent, match);
    if (at < 0) return;
    match.level++;
  }
  match.valueStart = at;
  match.valueEnd = skipValue(text, at, match.level);
  match.isFound = match.valueEnd >= 0;
  match.status = match.isFound ? Status.success : statusOf(match.valueEnd);
}

/**
 * Returns the start of the entry's value in the container at `at`, or -1 after setting the reason in `match`. The byte that closes a
 * container is two above the one that opens it.
 */
function enter(text: Buffer, at: number, component: PathComponent, match: Match): number {
  const opening = component.name === null ? 0x5b : 0x7b;
  if (text[at] !== opening) {
    return refuse(match, at < text.length ? Status.subdocPathMismatch : Status.subdocDocNotJson);
  }
  let count = 0;
  let last = -1;
  let next = spaceEnd(text, at + 1, text.length);
  while (next < text.length && text[next] !== opening + 2) {
    const entry = next;
    const value = component.name === null ? entry : valueAfterName(text, entry, text.length);
    if (value < 0) return refuse(match, Status.subdocDocNotJson);
    if (isEntry(text, entry, component, count)) return foundAt(match, entry, value);
    last = entry;
    count++;
    next = skipValue(text, value, match.level + 1);
    if (next < 0) return refuse(match, statusOf(next));
    next = spaceEnd(text, next, text.length);
    if (text[next] === 0x2c) next = spaceEnd(text, next + 1, text.length);
    else if (text[next] !== opening + 2) return refuse(match, Status.subdocDocNotJson);
  }
  if (next >= text.length) return refuse(match, Status.subdocDocNotJson);
  if (component.index === -1 && last >= 0) return foundAt(match, last, last);
  match.containerStart = at;
  match.containerEnd = next + 1;
  match.containerCount = count;
  return refuse(match, Status.success);
}

function foundAt(match: Match, entryStart: number, value: number): number {
  match.entryStart = entryStart;
  return value;
}

function refuse(match: Match, status: Status): number {
  match.status = status;
  return -1;
}

export function statusOf(skipped: number): Status {
  return skipped === tooDeep ? Status.subdocDocTooDeep : Status.subdocDocNotJson;
}

/** Whether the component names the entry that begins at `entry` and has `index` entries before it. An index of -1 names none. */
export function isEntry(text: Buffer, entry: number, component: PathComponent, index: number): boolean {
  if (component.name === null) return component.index === index;
  const end = stringEnd(text, entry, text.length) - 1;
  if (isSame(text, entry + 1, end, component.name)) return true;
  if (component.unescaped === null && !hasEscape(text, entry + 1, end)) return false;
  const name = component.unescaped ?? component.name.toString();
  return unescapeName(text.toString('utf8', entry + 1, end)) === name;
}

function hasEscape(text: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (text[at] === 0x5c) return true;
  return false;
}

/** Compares from the end, because neighbouring names often share a prefix; in a loop, because for short names a call costs more. */
function isSame(text: Buffer, start: number, end: number, name: Buffer): boolean {
  if (end - start !== name.length) return false;
  for (let i = name.length - 1; i >= 0; i--) if (text[start + i] !== name[i]) return false;
  return true;
}

/** Returns the position after the value at `at`, which is inside `level` containers; negative if malformed or too deep. */
export function skipValue(text: Buffer, at: number, level: number): number {
  const first = text[at];
  if (first === 0x22) return stringEnd(text, at, text.length);
  return first === 0x7b || first === 0x5b ? skipContainer(text, at, level) : skipScalar(text, at, level);
}

/** Skips a number or a word, which ends at a comma, a closing bracket or brace, white space or the end of the text. */
function skipScalar(text: Buffer, at: number, level: number): number {
  let next = at;
  for (; next < text.length; next++) {
    const byte = text[next] as number;
    if (byte <= 0x2c ? byte === 0x2c || byte <= 0x20 : byte === 0x5d || byte === 0x7d) {
      return next > at ? next : broken;
    }
  }
  return level === 0 && next > at ? next : broken;
}

function skipContainer(text: Buffer, at: number, level: number): number {
  let depth = 0;
  let next = at;
  while (next < text.length) {
    const byte = text[next] as number;
    if (byte === 0x22) {
      next = stringEnd(text, next, text.length);
      if (next < 0) return broken;
      continue;
    }
    next++;
    // Outside strings only brackets, braces and some letters have all of these bits; all other bytes are skipped at once.
    if ((byte & 0x58) !== 0x58) continue;
    if (byte === 0x7b || byte === 0x5b) {
      if (level + ++depth > levelsMax) return tooDeep;
    } else if ((byte === 0x7d || byte === 0x5d) && --depth === 0) return next;
  }
  return broken;
}

/** Number of entries of the container at `start`. */
export function countEntries(text: Buffer, start: number): number {
  const object = text[start] === 0x7b;
  let count = 0;
  let next = spaceEnd(text, start + 1, text.length);
  while (next < text.length && text[next] !== (text[start] as number) + 2) {
    const value = object ? valueAfterName(text, next, text.length) : next;
    next = value < 0 ? value : skipValue(text, value, 0);
    if (next < 0) return count;
    count++;
    next = spaceEnd(text, next, text.length);
    if (text[next] === 0x2c) next = spaceEnd(text, next + 1, text.length);
  }
  return count;
}
