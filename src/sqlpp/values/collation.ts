// The order of all values: MISSING, NULL, false, true, numbers, strings by UTF-8 bytes, arrays, objects by size and then
// member by member (name, value), binary by bytes.
import { resolve } from './json-parse.ts';
import { countCompared, countNames, countSteps } from './step-limit.ts';
import { binaryRank, objectRank, rankOf } from './types.ts';
import { type Binary, RawJson, type Value, type ValueObject } from './value.ts';

/** Negative if `a` sorts before `b`; 0 if they are equal. */
export function collate(a: Value, b: Value): number {
  if (typeof a === 'string' && typeof b === 'string') return compareStrings(a, b);
  if (typeof a === 'number' && typeof b === 'number') return compareNumbers(a, b);
  const rank = rankOf(a);
  const difference = rank - rankOf(b);
  if (difference !== 0) return difference;
  if (a instanceof RawJson || b instanceof RawJson) return collate(resolve(a), resolve(b));
  if (typeof a === 'boolean') return Number(a) - Number(b);
  if (typeof a === 'number' || typeof a === 'bigint') return compareNumbers(a, b as number | bigint);
  // Rows of one document share its values.
  if (a === b) return 0;
  if (Array.isArray(a)) return compareArrays(a as readonly Value[], b as readonly Value[], collate);
  if (rank === objectRank) return compareObjects(a as ValueObject, b as ValueObject, collate);
  return rank === binaryRank ? compareBytes((a as Binary).bytes, (b as Binary).bytes) : 0;
}

/** NaN sorts first, then negative infinity. */
export function compareNumbers(a: number | bigint, b: number | bigint): number {
  if (a < b) return -1;
  if (a > b) return 1;
  if (a === b) return 0;
  // Only NaN neither compares nor equals (bigints are never equal to numbers).
  const [isNaNa, isNaNb] = [Number.isNaN(a), Number.isNaN(b)];
  return Number(isNaNb) - Number(isNaNa);
}

/** By code points, which is the order of UTF-8 bytes: surrogates sort after all other units. */
export function compareStrings(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const unit = a.charCodeAt(at);
    const other = b.charCodeAt(at);
    if (unit === other) continue;
    countCompared(at);
    const isSurrogate = (unit & 0xf800) === 0xd800;
    return isSurrogate === ((other & 0xf800) === 0xd800) ? unit - other : isSurrogate ? 1 : -1;
  }
  countCompared(length);
  return a.length - b.length;
}

/** Element by element: the first for which `orderOf` is not 0 decides. */
export function compareArrays<Order>(
  a: readonly Value[],
  b: readonly Value[],
  orderOf: (a: Value, b: Value) => Order,
): Order | number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const order = orderOf(a[at], b[at]);
    if (order === 0) continue;
    countSteps(at);
    return order;
  }
  countSteps(length);
  return a.length - b.length;
}

/** Member by member in the order of their names: the first for which `orderOf` is not 0 decides. */
export function compareObjects<Order>(
  a: ValueObject,
  b: ValueObject,
  orderOf: (a: Value, b: Value) => Order,
): Order | number {
  const names = memberNames(a);
  const others = memberNames(b);
  if (names.length !== others.length) return names.length - others.length;
  for (let at = 0; at < names.length; at++) {
    const name = names[at] as string;
    // The object with the smaller name sorts first: the other lacks it.
    const order = compareStrings(name, others[at] as string) || orderOf(a[name], b[name]);
    if (order !== 0) return order;
  }
  return 0;
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const difference = (a[at] as number) - (b[at] as number);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** The steps that are counted for sorting a name, in addition to those for listing it. */
const sortedNameSteps = 3;

/** Names of an object's members in collation order. */
export function memberNames(object: ValueObject): string[] {
  const names = Object.keys(object);
  countNames(names.length);
  for (let at = 1; at < names.length; at++) {
    if (compareStrings(names[at - 1] as string, names[at] as string) <= 0) continue;
    countNames(names.length * sortedNameSteps);
    return names.sort(compareStrings);
  }
  return names;
}
