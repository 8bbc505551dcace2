// Sub-document operations on arrays.
import { Status } from '#wire/status.ts';
import { spaceEnd } from '../value/json.ts';
import {
  addMissing,
  checkPrimitive,
  checkValues,
  closeBracket,
  comma,
  emptyBytes,
  failed,
  openBracket,
  type SubdocResult,
  spliced,
} from './edit.ts';
import { locate, type Match, skipValue } from './locate.ts';
import type { PathComponent } from './path.ts';

type Path = readonly PathComponent[];

/** Adds values before the first element of an array or after the last one. */
export function push(
  text: Buffer,
  path: Path,
  match: Match,
  mkdirP: boolean,
  values: Buffer,
  place: 'first' | 'last',
): SubdocResult {
  const checked = checkValues(values, path.length + 1);
  if (checked !== Status.success) return failed(checked);
  const status = locateArray(text, path, match);
  if (status !== Status.success) return failed(status);
  if (!match.isFound) return newArray(text, path, match, mkdirP, values);
  const separator = isEmpty(text, match) ? emptyBytes : comma;
  if (place === 'first') {
    const start = match.valueStart + 1;
    return spliced(text, start, start, values, separator);
  }
  const end = match.valueEnd - 1;
  return spliced(text, end, end, separator, values);
}

/** Appends a primitive value to an array of primitives that does not contain it, compared byte by byte. */
export function addUnique(
  text: Buffer,
  path: Path,
  match: Match,
  mkdirP: boolean,
  value: Buffer,
): SubdocResult {
  const checked = checkPrimitive(value);
  if (checked !== Status.success) return failed(checked);
  const status = locateArray(text, path, match);
  if (status !== Status.success) return failed(status);
  if (match.isFound) {
    const uniqueness = findPrimitive(text, match, trimmed(value));
    if (uniqueness !== Status.success) return failed(uniqueness);
  }
  return push(text, path, match, mkdirP, value, 'last');
}

/** Inserts values before the element that the path names, or at the end if the path names the position after the last element. */
export function arrayInsert(text: Buffer, path: Path, match: Match, values: Buffer): SubdocResult {
  const target = path[path.length - 1];
  if (target === undefined || target.name !== null || target.index < 0)
    return failed(Status.subdocPathInvalid);
  const checked = checkValues(values, path.length);
  if (checked !== Status.success) return failed(checked);
  locate(text, path, match);
  if (match.status !== Status.success) return failed(match.status);
  if (match.isFound) return spliced(text, match.valueStart, match.valueStart, values, comma);
  if (match.level < path.length - 1 || target.index !== match.containerCount) {
    return failed(Status.subdocPathNotFound);
  }
  const end = match.containerEnd - 1;
  return spliced(text, end, end, target.index > 0 ? comma : emptyBytes, values);
}

function locateArray(text: Buffer, path: Path, match: Match): Status {
  locate(text, path, match);
  if (match.status !== Status.success) return match.status;
  return match.isFound && text[match.valueStart] !== 0x5b ? Status.subdocPathMismatch : Status.success;
}

function isEmpty(text: Buffer, match: Match): boolean {
  return text[spaceEnd(text, match.valueStart + 1, match.valueEnd)] === 0x5d;
}

function newArray(text: Buffer, path: Path, match: Match, mkdirP: boolean, values: Buffer): SubdocResult {
  if (!mkdirP) return failed(Status.subdocPathNotFound);
  return addMissing(text, path, match, [openBracket, values, closeBracket]);
}

/** Success if the array contains only primitives, and not this one. */
function findPrimitive(text: Buffer, match: Match, value: Buffer): Status {
  let status: Status = Status.success;
  let at = spaceEnd(text, match.valueStart + 1, match.valueEnd);
  while (text[at] !== 0x5d) {
    if (text[at] === 0x5b || text[at] === 0x7b) return Status.subdocPathMismatch;
    const end = skipValue(text, at, 0);
    if (end < 0) return Status.subdocDocNotJson;
    if (end - at === value.length && text.compare(value, 0, value.length, at, end) === 0) {
      status = Status.subdocPathExists;
    }
    at = spaceEnd(text, end, match.valueEnd);
    if (text[at] === 0x2c) at = spaceEnd(text, at + 1, match.valueEnd);
  }
  return status;
}

function trimmed(value: Buffer): Buffer {
  const start = spaceEnd(value, 0, value.length);
  return value.subarray(start, skipValue(value, start, 0));
}
