// A text per value that is equal exactly for values that collate equal: the keys of maps for DISTINCT, GROUP BY,
// hash joins and set operations.
import { memberNames } from './collation.ts';
import { resolve } from './json-parse.ts';
import { contiguous, numberText } from './json-text.ts';
import { countSteps, writtenSteps } from './step-limit.ts';
import { Binary, RawJson, type Value, type ValueObject } from './value.ts';

export function identityOf(value: Value): string {
  switch (typeof value) {
    case 'string':
      return `"${value}`;
    case 'number':
      return value === 0 ? '0' : String(value);
    case 'bigint':
      return value.toString();
    case 'boolean':
      return value ? 't' : 'f';
    case 'undefined':
      return 'm';
  }
  if (value === null) return 'n';
  if (value instanceof RawJson) return identityOf(resolve(value));
  let text = '';
  append(value);
  // Maps keep these texts for long.
  return contiguous(text);

  function append(part: Value): void {
    if (typeof part === 'string') {
      // The length in front delimits strings, and binary values below.
      text += `"${part.length}:${part}`;
    } else if (part instanceof RawJson) append(resolve(part));
    else if (Array.isArray(part)) {
      countSteps(writtenSteps * part.length);
      text += '[';
      // As in the answer, MISSING is NULL there.
      for (const item of part as readonly Value[]) append(item ?? null);
      text += ']';
    } else if (part instanceof Binary) {
      text += `b${part.bytes.length}:${Buffer.from(part.bytes).toString('latin1')}`;
    } else if (typeof part === 'object' && part !== null) appendObject(part as ValueObject);
    else if (typeof part === 'number') text += `${part === 0 ? '0' : numberText(part)},`;
    else text += `${identityOf(part)},`;
  }

  function appendObject(object: ValueObject): void {
    const names = memberNames(object);
    countSteps(writtenSteps * names.length);
    text += '{';
    for (const name of names) {
      append(name);
      append(object[name]);
    }
    text += '}';
  }
}
