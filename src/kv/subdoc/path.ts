// Parses paths into a document: `a.b[0].c`, `[-1]` for the last element, back-ticks around names that contain dots or brackets (a
// doubled back-tick is a literal one). A name is written as between the quotes of a JSON key, so `"` and `\` are escaped; \u
// escapes are not allowed.
import { Status } from '#wire/status.ts';
import { isDigit, isUtf8Range } from '../value/json.ts';

export const pathBytesMax = 1024;

/** Maximal depth of documents and paths. It includes the document's root, so a path has at most 31 components. */
export const levelsMax = 32;

/** A member name, or an array index if `name` is null. */
export interface PathComponent {
  /** The name as in the JSON text, escaped and without quotes. */
  name: Buffer | null;
  /** The unescaped name, null if it contains no escapes. */
  unescaped: string | null;
  /** -1 is the last element. */
  index: number;
}

/** Parses a path into `components`, whose previous content is removed. */
export function parsePath(bytes: Buffer, components: PathComponent[]): Status {
  components.length = 0;
  if (bytes.length > pathBytesMax || !isUtf8Range(bytes, 0, bytes.length)) return Status.subdocPathInvalid;
  let at = 0;
  while (at < bytes.length) {
    const bracket = bytes[at] === 0x5b;
    const end = bracket ? bytes.indexOf(0x5d, at) : nameEnd(bytes, at);
    if (end < 0) return Status.subdocPathInvalid;
    const component = bracket ? elementOf(bytes, at + 1, end) : memberOf(bytes, at, end);
    if (component === null) return Status.subdocPathInvalid;
    if (components.length + 1 === levelsMax) return Status.subdocPathTooBig;
    components.push(component);
    at = bracket ? end + 1 : end;
    if (bytes[at] === 0x2e) at++;
    else if (at < bytes.length && bytes[at] !== 0x5b) return Status.subdocPathInvalid;
  }
  return Status.success;
}

/** The end of the name at `at` (a dot, a bracket or the end of the path), or -1 if it is malformed. */
function nameEnd(bytes: Buffer, at: number): number {
  let quoted = false;
  for (let next = at; next < bytes.length; next++) {
    const byte = bytes[next] as number;
    if (byte === 0x5c) {
      if (!isEscape(bytes[++next])) return -1;
    } else if (byte === 0x22 || byte < 0x20) return -1;
    else if (byte === 0x60) quoted = !quoted;
    else if (!quoted && byte === 0x5d) return -1;
    else if (!quoted && (byte === 0x2e || byte === 0x5b)) return next;
  }
  return quoted ? -1 : bytes.length;
}

/** `"` `\` `/` `b` `f` `n` `r` `t`. */
function isEscape(byte: number | undefined): boolean {
  return byte !== undefined && '"\\/bfnrt'.includes(String.fromCharCode(byte));
}

function memberOf(bytes: Buffer, start: number, end: number): PathComponent | null {
  const quoted = end - start > 1 && bytes[start] === 0x60 && bytes[end - 1] === 0x60;
  const raw = quoted ? bytes.subarray(start + 1, end - 1) : bytes.subarray(start, end);
  const name = raw.includes(0x60) ? withoutQuoting(raw) : raw;
  if (name.length === 0) return null;
  return { name, unescaped: name.includes(0x5c) ? unescapeName(name.toString()) : null, index: 0 };
}

/** Replaces doubled back-ticks by one and removes single ones. */
function withoutQuoting(raw: Buffer): Buffer {
  return Buffer.from(raw.toString('latin1').replace(/`(`?)/g, '$1'), 'latin1');
}

/** Unescapes the content of a JSON string; null if it is malformed. */
export function unescapeName(content: string): string | null {
  try {
    return JSON.parse(`"${content}"`);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function elementOf(bytes: Buffer, start: number, end: number): PathComponent | null {
  if (end - start === 2 && bytes[start] === 0x2d && bytes[start + 1] === 0x31) return element(-1);
  // An index of more than 15 digits is beyond the size of any document.
  if (end === start || end - start > 15) return null;
  let index = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (!isDigit(byte)) return null;
    index = index * 10 + byte - 0x30;
  }
  return element(index);
}

function element(index: number): PathComponent {
  return { name: null, unescaped: null, index };
}
