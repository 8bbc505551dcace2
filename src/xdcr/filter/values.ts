// Values of filter expressions, and how they compare. A field's value is converted to the type of a constant where that is possible;
// other values of different types are in the order of their types.
import { readTime } from './dates.ts';
import { integerOf, LargeInteger } from './large-integer.ts';

/** A result that is no value: a division by zero, a text that is no date. Lower than all others, and equal to none. */
export const noValue = Symbol('no value');

/** Undefined: missing. A bigint is a time. */
export type FilterValue =
  | typeof noValue
  | undefined
  | null
  | boolean
  | number
  | LargeInteger
  | string
  | bigint
  | readonly unknown[]
  | { readonly [name: string]: unknown };

/** The order of values of different types, the lowest first. */
const ranks = {
  none: 0,
  null: 1,
  boolean: 2,
  number: 3,
  string: 4,
  time: 5,
  array: 6,
  object: 7,
} as const;
type TypeName = keyof typeof ranks;

export interface Side {
  readonly value: FilterValue;
  readonly isConstant: boolean;
}

/** Negative, 0 or positive; undefined if one is missing, or if both are no values: then no comparison holds but `!=`. */
export function compareSides(left: Side, right: Side): number | undefined {
  if (left.value === undefined || right.value === undefined) return undefined;
  if (left.value === noValue && right.value === noValue) return undefined;
  const [one, other] = withCommonType(left, right);
  const [oneType, otherType] = [typeOf(one), typeOf(other)];
  if (oneType !== otherType) return ranks[oneType] - ranks[otherType];
  switch (oneType) {
    case 'none':
    case 'null':
      return 0;
    case 'string':
      return Buffer.compare(Buffer.from(one as string), Buffer.from(other as string));
    case 'array':
    case 'object':
      return compareTexts(JSON.stringify(one), JSON.stringify(other));
    default:
      return compareComparable(comparable(one), comparable(other));
  }
}

/** A boolean, a number or a time; of a large number its bigint, which JavaScript compares with a double exactly. */
const comparable = (value: FilterValue): number =>
  (value instanceof LargeInteger ? value.value : value) as number;

const compareComparable = (one: number, other: number): number => (one < other ? -1 : one > other ? 1 : 0);

function typeOf(value: FilterValue): TypeName {
  if (value === null) return 'null';
  if (value instanceof LargeInteger) return 'number';
  if (value === noValue || value === undefined) return 'none';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint') return 'time';
  return typeof value as TypeName;
}

/** Compares the JSON texts of two arrays or objects: the shorter one is lower; of equal length, the one with the lower bytes. */
const compareTexts = (one: string, other: string): number =>
  one.length - other.length || Buffer.compare(Buffer.from(one), Buffer.from(other));

/** Both values converted to one type, or unchanged. */
function withCommonType(left: Side, right: Side): readonly [FilterValue, FilterValue] {
  const { value: one } = left;
  const { value: other } = right;
  const [oneType, otherType] = [typeOf(one), typeOf(other)];
  if (oneType === otherType) return [one, other];
  if (left.isConstant !== right.isConstant) {
    const converted = left.isConstant ? convertedTo(oneType, other) : convertedTo(otherType, one);
    if (converted === undefined) return [one, other];
    return left.isConstant ? [one, converted] : [converted, other];
  }
  // Two fields or two constants: the type of the lower rank is tried first.
  const isOneFirst = ranks[oneType] < ranks[otherType];
  const asOne: FilterValue = convertedTo(oneType, other);
  const asOther: FilterValue = convertedTo(otherType, one);
  const first: FilterValue = isOneFirst ? asOne : asOther;
  const second: FilterValue = isOneFirst ? asOther : asOne;
  if (first !== undefined) return isOneFirst ? [one, first] : [first, other];
  if (second !== undefined) return isOneFirst ? [second, other] : [one, second];
  return [one, other];
}

const wholeNumeral = /^-?\d+$/;
const numeral = /^[+-]?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,4})?$/;

/** The value converted to the type; undefined: it cannot be converted. */
function convertedTo(type: TypeName, value: FilterValue): FilterValue {
  if (type === 'boolean') {
    if (typeof value === 'number') return value !== 0;
    if (value instanceof LargeInteger) return true;
    if (typeof value !== 'string' || value.length > 5) return undefined;
    const text = value.toLowerCase();
    return text === 'true' ? true : text === 'false' ? false : undefined;
  }
  if (type === 'number') {
    if (typeof value === 'boolean') return value ? 1 : 0;
    if (typeof value !== 'string' || !numeral.test(value)) return undefined;
    return wholeNumeral.test(value) ? integerOf(value) : Number(value);
  }
  if (type === 'string')
    return typeof value === 'number' || value instanceof LargeInteger ? String(value) : undefined;
  return type === 'time' && typeof value === 'string' ? readTime(value) : undefined;
}
