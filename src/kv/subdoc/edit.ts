// Shared by the operations: the result of one operation on a JSON text, and splicing, which leaves all bytes around a change
// unchanged.
import { Status } from '#wire/status.ts';
import { isJson, isSpace, jsonDepth } from '../value/json.ts';
import type { Match } from './locate.ts';
import { levelsMax, type PathComponent } from './path.ts';

export const emptyBytes = Buffer.alloc(0);

/** Result of an operation, which is a lookup or a mutation. `text`: as a mutation changed it; only lookups and the counter have a `value`. */
export interface SubdocResult {
  status: Status;
  text: Buffer;
  value: Buffer;
}

export function failed(status: Status): SubdocResult {
  return { status, text: emptyBytes, value: emptyBytes };
}

export function answered(value: Buffer): SubdocResult {
  return { status: Status.success, text: emptyBytes, value };
}

/** Replaces a range of the text. */
export function spliced(text: Buffer, start: number, end: number, ...parts: readonly Buffer[]): SubdocResult {
  const changed = Buffer.concat([text.subarray(0, start), ...parts, text.subarray(end)]);
  return { status: Status.success, text: changed, value: emptyBytes };
}

/** Success if the value is one JSON value that does not exceed the depth limit below `levels` containers. */
export function checkValue(value: Buffer, levels: number): Status {
  const depth = jsonDepth(value, 0, value.length);
  if (depth < 0) return Status.subdocValueCantInsert;
  return levels + depth > levelsMax ? Status.subdocValueTooDeep : Status.success;
}

/** As `checkValue`, for one or more values separated by commas. */
export function checkValues(values: Buffer, levels: number): Status {
  if (values.every(isSpace)) return Status.subdocValueCantInsert;
  const depth = jsonDepth(Buffer.concat([openBracket, values, closeBracket]), 0, values.length + 2) - 1;
  if (depth < 0) return Status.subdocValueCantInsert;
  return levels + depth > levelsMax ? Status.subdocValueTooDeep : Status.success;
}

/** Success if the value is a single string, number, true, false or null. */
export function checkPrimitive(value: Buffer): Status {
  if (!isJson(value, 0, value.length)) return Status.subdocValueCantInsert;
  return jsonDepth(value, 0, value.length) === 0 ? Status.success : Status.subdocValueCantInsert;
}

export const comma = Buffer.from(',');
export const openBracket = Buffer.from('[');
export const closeBracket = Buffer.from(']');
const openBrace = Buffer.from('{');
const closeBrace = Buffer.from('}');
const quote = Buffer.from('"');
const quoteColon = Buffer.from('":');

/**
 * Creates the missing components of a path in the container where the match ended: the next name as a new member, further names as
 * nested objects, with the value innermost. A missing array index cannot be created: path not found.
 */
export function addMissing(
  text: Buffer,
  path: readonly PathComponent[],
  match: Match,
  value: readonly Buffer[],
): SubdocResult {
  const missing = path.slice(match.level);
  const parts: Buffer[] = match.containerCount > 0 ? [comma] : [];
  for (const [i, { name }] of missing.entries()) {
    if (name === null) return failed(Status.subdocPathNotFound);
    if (i > 0) parts.push(openBrace);
    parts.push(quote, name, quoteColon);
  }
  parts.push(...value);
  for (let i = 1; i < missing.length; i++) parts.push(closeBrace);
  return spliced(text, match.containerEnd - 1, match.containerEnd - 1, ...parts);
}
