// Texts that are equal exactly for values that collate equal: the keys of maps for caches and joins. DISTINCT, GROUP BY and set operations use a
// variant, in which values that answers show alike have one text.
import { hash } from 'node:crypto';
import { memberNames } from './collation.ts';
import { resolve } from './json-parse.ts';
import { contiguous, numberText } from './json-text.ts';
import { countSteps, countText, writtenSteps } from './step-limit.ts';
import { Binary, RawJson, type Value, type ValueObject } from './value.ts';

/** V8 hashes longer strings by their length only, so that a map would compare all of one length. */
const hashedCharactersMax = 16_383;
/** Begins a digest, and no other identity. */
const digestMark = '#';

/** Whether the identity is the digest of a text that was too long for a map. */
export const isDigest = (identity: string): boolean => identity.startsWith(digestMark);

export function identityOf(value: Value): string {
  return identityText(value, Number.POSITIVE_INFINITY);
}

/** A text that values have in common if answers show them alike: in arrays, MISSING counts as NULL. */
export function shownIdentityOf(value: Value): string {
  return identityText(value, 0);
}

/** A text that lists have in common if answers show their values alike: MISSING differs from NULL in the list, but not in arrays within the list. */
export function shownIdentityOfAll(values: readonly Value[]): string {
  return identityText(values, 1);
}

/** `nullFrom`: from arrays at this depth on, MISSING items count as NULL. */
function identityText(value: Value, nullFrom: number): string {
  switch (typeof value) {
    case 'string':
      countText(value.length);
      return value.length >= hashedCharactersMax ? digestOf(`"${value}`) : `"${value}`;
    case 'number':
      // String(value) of an integer above 2^53 may be the text of another integer, which is a bigint.
      return Number.isInteger(value) ? numberText(value) : String(value);
    case 'bigint':
      return value.toString();
    case 'boolean':
      return value ? 't' : 'f';
    case 'undefined':
      return 'm';
  }
  if (value === null) return 'n';
  if (value instanceof RawJson) return identityText(resolve(value), nullFrom);
  let text = '';
  append(value, 0);
  // Maps keep these texts for long.
  return text.length > hashedCharactersMax ? digestOf(text) : contiguous(text);

  function append(part: Value, depth: number): void {
    if (typeof part === 'string') {
      // The length in front delimits strings, and binary values below.
      text += `"${part.length}:${part}`;
    } else if (part instanceof RawJson) append(resolve(part), depth);
    else if (Array.isArray(part)) {
      countSteps(writtenSteps * part.length);
      text += '[';
      for (const item of part as readonly Value[])
        append(item === undefined && depth >= nullFrom ? null : item, depth + 1);
      text += ']';
    } else if (part instanceof Binary) {
      text += `b${part.bytes.length}:${Buffer.from(part.bytes).toString('latin1')}`;
    } else if (typeof part === 'object' && part !== null) appendObject(part as ValueObject, depth);
    else if (typeof part === 'number') text += `${part === 0 ? '0' : numberText(part)},`;
    else text += `${identityOf(part)},`;
  }

  function appendObject(object: ValueObject, depth: number): void {
    const names = memberNames(object);
    countSteps(writtenSteps * names.length);
    text += '{';
    for (const name of names) {
      append(name, depth);
      append(object[name], depth + 1);
    }
    text += '}';
  }
}

/** Text that is not well-formed is not hashed as UTF-8, in which all unpaired surrogates are the same. */
function digestOf(text: string): string {
  const isWellFormed = text.isWellFormed();
  const digest = hash('sha256', isWellFormed ? text : Buffer.from(text, 'utf16le'), 'base64');
  return `${digestMark}${isWellFormed ? '8' : '16'}${digest}`;
}
