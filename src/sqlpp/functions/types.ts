// Functions that test and convert types.

import { numberText } from '../values/json-text.ts';
import { numberLiteral } from '../values/number-literal.ts';
import {
  arrayRank,
  binaryRank,
  booleanRank,
  isTrue,
  numberRank,
  objectRank,
  rankOf,
  stringRank,
  typeName,
} from '../values/types.ts';
import { Binary, newObject, type Value, type ValueObject } from '../values/value.ts';
import { Declarations, type Implementation } from './declaration.ts';

/** Not called for MISSING and NULL, which are returned unchanged by default. */
const test =
  (isOf: (rank: number) => boolean): Implementation =>
  ([value]) =>
    isOf(rankOf(value));

/** Options of a function that reads all of its argument. */
const synonyms = (...list: string[]): { synonyms: string[] } => ({ synonyms: list });

/** Options of a function that reads only the type of its argument. */
const readingType = (...list: string[]) => ({ synonyms: list, reads: 'type' }) as const;

function toAtom(value: Value): Value {
  const rank = rankOf(value);
  if (rank < arrayRank || rank === binaryRank) return value;
  const items = Array.isArray(value) ? (value as readonly Value[]) : Object.values(value as ValueObject);
  return items.length === 1 ? toAtom(items[0]) : null;
}

const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

function toNumber(value: Value): Value {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value !== 'string') return rankOf(value) === numberRank ? value : null;
  if (decimal.test(value)) return numberLiteral(value.replace(/^\+/, ''));
  const infinity = /^([+-]?)inf(?:inity)?$/i.exec(value);
  if (infinity !== null) return infinity[1] === '-' ? -Infinity : Infinity;
  return /^nan$/i.test(value) ? Number.NaN : null;
}

export function toText(value: Value): Value {
  switch (typeof value) {
    case 'string':
      return value;
    case 'boolean':
    case 'bigint':
      return String(value);
    case 'number':
      return Number.isFinite(value)
        ? numberText(value)
        : JSON.parse(numberText(value)).replace('+Infinity', '+Inf').replace('-Infinity', '-Inf');
  }
  return value instanceof Binary ? Buffer.from(value.bytes).toString() : null;
}

export const types = new Declarations('type')
  .add(
    'isarray',
    'value',
    'Whether the value is an array.',
    test((rank) => rank === arrayRank),
    readingType('is_array'),
  )
  .add(
    'isatom',
    'value',
    'Whether the value is a boolean, a number or a string.',
    test((rank) => rank >= booleanRank && rank <= stringRank),
    readingType('is_atom'),
  )
  .add(
    'isbinary',
    'value',
    'Whether the value is a document that is not JSON.',
    test((rank) => rank === binaryRank),
    readingType('is_binary', 'isbin', 'is_bin'),
  )
  .add(
    'isboolean',
    'value',
    'Whether the value is true or false.',
    test((rank) => rank === booleanRank),
    readingType('is_boolean', 'isbool', 'is_bool'),
  )
  .add(
    'isnumber',
    'value',
    'Whether the value is a number.',
    test((rank) => rank === numberRank),
    readingType('is_number', 'isnum', 'is_num'),
  )
  .add(
    'isobject',
    'value',
    'Whether the value is an object.',
    test((rank) => rank === objectRank),
    readingType('is_object', 'isobj', 'is_obj'),
  )
  .add(
    'isstring',
    'value',
    'Whether the value is a string.',
    test((rank) => rank === stringRank),
    readingType('is_string', 'isstr', 'is_str'),
  )
  .add(
    'type',
    'value',
    "The name of the value's type: missing, null, boolean, number, string, array, object or binary.",
    ([value]) => typeName(value),
    { nulls: 'own', ...readingType('type_name', 'typename') },
  )
  .add(
    'toarray',
    'value',
    'An array as it is, any other value as the only item of an array.',
    ([value]) => (Array.isArray(value) ? value : value instanceof Binary ? null : [value]),
    synonyms('to_array'),
  )
  .add(
    'toatom',
    'value',
    'A value other than an array or object as it is; of an array or object with one item, the atom of that item, else NULL.',
    ([value]) => toAtom(value),
    synonyms('to_atom'),
  )
  .add(
    'toboolean',
    'value',
    'false for false, 0, NaN and empty strings, arrays and objects, else true.',
    ([value]) => isTrue(value),
    synonyms('to_boolean', 'tobool', 'to_bool'),
  )
  .add(
    'tonumber',
    'value',
    'A number as it is, 0 and 1 for false and true, the number that a string contains, else NULL.',
    ([value]) => toNumber(value),
    synonyms('to_number', 'tonum', 'to_num'),
  )
  .add(
    'toobject',
    'value',
    'An object as it is, else an empty object.',
    ([value]) => (rankOf(value) === objectRank ? value : newObject()),
    synonyms('to_object', 'toobj', 'to_obj'),
  )
  .add(
    'tostring',
    'value',
    'A string as it is, the text of a boolean, a number or binary, else NULL.',
    ([value]) => toText(value),
    synonyms('to_string', 'tostr', 'to_str'),
  );
