// Types of values, the order of the types, and which values count as true.
import { resolve } from './json-parse.ts';
import { Binary, RawJson, type Value, type ValueObject } from './value.ts';

/** The ranks of types in collation order. */
const missingRank = 1;
const nullRank = 2;
export const booleanRank = 3;
export const numberRank = 4;
export const stringRank = 5;
export const arrayRank = 6;
export const objectRank = 7;
export const binaryRank = 8;

export function rankOf(value: Value): number {
  switch (typeof value) {
    case 'undefined':
      return missingRank;
    case 'boolean':
      return booleanRank;
    case 'number':
    case 'bigint':
      return numberRank;
    case 'string':
      return stringRank;
  }
  if (value === null) return nullRank;
  if (Array.isArray(value)) return arrayRank;
  if (value instanceof Binary) return binaryRank;
  if (value instanceof RawJson) return rawRank(value);
  return objectRank;
}

/** The type of JSON text, by its first character. */
function rawRank({ bytes, start }: RawJson): number {
  switch (bytes[start]) {
    case 0x7b: // {
      return objectRank;
    case 0x5b: // [
      return arrayRank;
    case 0x22: // "
      return stringRank;
    case 0x74: // true
    case 0x66: // false
      return booleanRank;
    case 0x6e: // null
      return nullRank;
    default:
      return numberRank;
  }
}

/** The names of types by their ranks. */
const typeNames = [
  '',
  'missing',
  'null',
  'boolean',
  'number',
  'string',
  'array',
  'object',
  'binary',
] as const;

export type TypeName = Exclude<(typeof typeNames)[number], ''>;

/** The result of TYPE(). */
export function typeName(value: Value): TypeName {
  return typeNames[rankOf(value)] as TypeName;
}

export function isArray(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

export function isNumber(value: Value): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** Only for parsed values: it returns true for all unparsed JSON text. */
export function isObject(value: Value): value is ValueObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Binary);
}

/** Whether WHERE accepts the value: true, numbers except 0 and NaN, and non-empty strings, arrays and objects. */
export function isTrue(value: Value): boolean {
  if (value === true) return true;
  switch (typeof value) {
    case 'number':
      return value !== 0 && !Number.isNaN(value);
    case 'bigint':
      // Only integers that a double cannot hold exactly are bigints: none is 0.
      return true;
    case 'string':
      return value.length > 0;
    case 'object':
      return isFilled(value);
    default:
      return false;
  }
}

function isFilled(value: Exclude<Value, undefined | boolean | number | bigint | string>): boolean {
  if (value === null) return false;
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Binary) return value.bytes.length > 0;
  if (value instanceof RawJson) return isTrue(resolve(value));
  for (const _ in value) return true;
  return false;
}
