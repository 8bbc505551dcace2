// The sub-document operations on one JSON text. Each finds its position with `locate` and splices bytes there, so that number
// formats, key order and white space of the rest are preserved.
import { Status } from '#wire/status.ts';
import { SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { spaceEnd } from '../value/json.ts';
import { addUnique, arrayInsert, push } from './arrays.ts';
import { counter } from './counter.ts';
import { addMissing, answered, checkValue, emptyBytes, failed, type SubdocResult, spliced } from './edit.ts';
import { countEntries, locate, newMatch } from './locate.ts';
import { type PathComponent, parsePath } from './path.ts';
import { newQuery, type Query, scan } from './scan.ts';

/** One match and one path, shared by all operations: each finishes synchronously. */
const match = newMatch();
const path: PathComponent[] = [];

/** Runs a lookup (get, exists, get_count) on a JSON text. The value is a view of the text. */
export function lookUp(opcode: number, text: Buffer, pathBytes: Buffer): SubdocResult {
  const parsed = parsePath(pathBytes, path);
  if (parsed !== Status.success) return failed(parsed);
  locate(text, path, match);
  if (match.status !== Status.success) return failed(match.status);
  if (!match.isFound) return failed(Status.subdocPathNotFound);
  if (opcode === SubdocOpcode.exists) return answered(emptyBytes);
  if (opcode === SubdocOpcode.get) return answered(text.subarray(match.valueStart, match.valueEnd));
  if (!isContainer(text[match.valueStart])) return failed(Status.subdocPathMismatch);
  return answered(Buffer.from(String(countEntries(text, match.valueStart))));
}

/** Runs several lookups in one pass over the text. */
export function lookUpAll(
  text: Buffer,
  lookups: readonly { opcode: number; path: Buffer }[],
): SubdocResult[] {
  const parsed = lookups.map(({ opcode, path }) => {
    const components: PathComponent[] = [];
    return { opcode, query: newQuery(components), refusal: parsePath(path, components) };
  });
  scan(
    text,
    parsed.filter(({ refusal }) => refusal === Status.success).map(({ query }) => query),
  );
  return parsed.map(({ opcode, query, refusal }) =>
    refusal === Status.success ? resultOf(opcode, text, query) : failed(refusal),
  );
}

function resultOf(opcode: number, text: Buffer, query: Query): SubdocResult {
  if (query.status !== Status.success) return failed(query.status);
  if (!query.isFound) return failed(Status.subdocPathNotFound);
  if (opcode === SubdocOpcode.exists) return answered(emptyBytes);
  if (opcode === SubdocOpcode.get) return answered(text.subarray(query.valueStart, query.valueEnd));
  if (!isContainer(text[query.valueStart])) return failed(Status.subdocPathMismatch);
  return answered(Buffer.from(String(query.count)));
}

function isContainer(byte: number | undefined): boolean {
  return byte === 0x5b || byte === 0x7b;
}

/** Runs a mutation on a JSON text. Returns the changed text in `text`, the new number of a counter in `value`. */
export function mutate(
  opcode: number,
  mkdirP: boolean,
  text: Buffer,
  pathBytes: Buffer,
  value: Buffer,
): SubdocResult {
  const parsed = parsePath(pathBytes, path);
  if (parsed !== Status.success) return failed(parsed);
  switch (opcode) {
    case SubdocOpcode.dictAdd:
    case SubdocOpcode.dictUpsert:
      return dictStore(opcode, mkdirP, text, value);
    case SubdocOpcode.replace:
      return replace(text, value);
    case SubdocOpcode.delete:
      return remove(text);
    case SubdocOpcode.pushLast:
      return push(text, path, match, mkdirP, value, 'last');
    case SubdocOpcode.pushFirst:
      return push(text, path, match, mkdirP, value, 'first');
    case SubdocOpcode.arrayInsert:
      return arrayInsert(text, path, match, value);
    case SubdocOpcode.addUnique:
      return addUnique(text, path, match, mkdirP, value);
    case SubdocOpcode.counter:
      return counter(text, path, match, mkdirP, value);
    default:
      return failed(Status.subdocInvalidCombo);
  }
}

function dictStore(opcode: number, mkdirP: boolean, text: Buffer, value: Buffer): SubdocResult {
  if (path.length === 0) return failed(Status.subdocValueCantInsert);
  const checked = checkValue(value, path.length);
  if (checked !== Status.success) return failed(checked);
  locate(text, path, match);
  if (match.status !== Status.success) return failed(match.status);
  if (path[path.length - 1]?.name === null) return failed(Status.subdocPathInvalid);
  if (match.isFound) {
    if (opcode === SubdocOpcode.dictAdd) return failed(Status.subdocPathExists);
    return spliced(text, match.valueStart, match.valueEnd, value);
  }
  if (!mkdirP && match.level < path.length - 1) return failed(Status.subdocPathNotFound);
  return addMissing(text, path, match, [value]);
}

function replace(text: Buffer, value: Buffer): SubdocResult {
  if (path.length === 0) return failed(Status.subdocValueCantInsert);
  const checked = checkValue(value, path.length);
  if (checked !== Status.success) return failed(checked);
  locate(text, path, match);
  if (match.status !== Status.success) return failed(match.status);
  if (!match.isFound) return failed(Status.subdocPathNotFound);
  return spliced(text, match.valueStart, match.valueEnd, value);
}

/** Removes an entry and one comma: the one after it, or for the last entry the one before it. */
function remove(text: Buffer): SubdocResult {
  if (path.length === 0) return failed(Status.subdocValueCantInsert);
  locate(text, path, match);
  if (match.status !== Status.success) return failed(match.status);
  if (!match.isFound) return failed(Status.subdocPathNotFound);
  const after = spaceEnd(text, match.valueEnd, text.length);
  if (text[after] === 0x2c) return spliced(text, match.entryStart, after + 1);
  let before = match.entryStart - 1;
  while (before > 0 && (text[before] as number) <= 0x20) before--;
  return spliced(text, text[before] === 0x2c ? before : match.entryStart, match.valueEnd);
}
