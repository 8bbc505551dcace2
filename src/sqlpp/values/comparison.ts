// Comparison operators with three-valued logic. A MISSING operand gives MISSING, else a NULL one NULL. Values of different types are unequal and
// sort by type.
import { collate, compareArrays, compareNumbers, compareObjects, compareStrings } from './collation.ts';
import { resolve } from './json-parse.ts';
import { countCompared, countNames, countSteps } from './step-limit.ts';
import { isArray, isObject, rankOf } from './types.ts';
import { Binary, RawJson, type Value, type ValueObject } from './value.ts';

/** The result of `a = b`. */
export function equal(a: Value, b: Value): boolean | null | undefined {
  if (a === undefined || b === undefined) return undefined;
  if (a === null || b === null) return null;
  if (typeof a === 'string' && typeof b === 'string') return equalTexts(a, b);
  if (typeof a !== 'object' || typeof b !== 'object') return a === b;
  if (a instanceof RawJson || b instanceof RawJson) return equal(resolve(a), resolve(b));
  if (isArray(a)) return isArray(b) ? equalArrays(a, b) : false;
  if (isArray(b)) return false;
  if (a instanceof Binary || b instanceof Binary) return collate(a, b) === 0;
  return equalObjects(a as ValueObject, b as ValueObject);
}

function equalTexts(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  countCompared(a.length);
  return a === b;
}

function equalArrays(a: readonly Value[], b: readonly Value[]): boolean | null | undefined {
  if (a.length !== b.length) return false;
  countSteps(a.length);
  let result: boolean | null | undefined = true;
  for (let at = 0; at < a.length; at++) {
    const found = equal(a[at], b[at]);
    if (found === false) return false;
    if (found !== true && result !== undefined) result = found;
  }
  return result;
}

function equalObjects(a: ValueObject, b: ValueObject): boolean | null {
  const names = Object.keys(a);
  const { length } = Object.keys(b);
  countNames(names.length + length);
  if (names.length !== length) return false;
  let result: boolean | null = true;
  for (const name of names) {
    const found = equal(a[name], b[name]);
    if (found === false || found === undefined) return false;
    if (found === null) result = null;
  }
  return result;
}

/** The order for `<` and similar operators: negative, 0 or positive, else NULL or MISSING. */
export function compare(a: Value, b: Value): number | null | undefined {
  if (typeof a === 'number' && typeof b === 'number') return compareNumbers(a, b);
  if (typeof a === 'string' && typeof b === 'string') return compareStrings(a, b);
  if (a === undefined || b === undefined) return undefined;
  if (a === null || b === null) return null;
  if (a instanceof RawJson || b instanceof RawJson) return compare(resolve(a), resolve(b));
  if (isArray(a) && isArray(b)) return compareArrays(a, b, compare);
  if (rankOf(a) === rankOf(b) && isObject(a) && isObject(b)) return compareObjects(a, b, compare);
  return collate(a, b);
}
