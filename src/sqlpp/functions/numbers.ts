// Functions of numbers.
import {
  add,
  divide,
  divideIntegers,
  integerOf,
  integerValue,
  modulo,
  moduloIntegers,
  multiply,
  negate,
  subtract,
} from '../values/arithmetic.ts';
import { isNumber } from '../values/types.ts';
import type { Value } from '../values/value.ts';
import { Declarations, type Implementation } from './declaration.ts';

const synonyms = (...list: string[]): { synonyms: string[] } => ({ synonyms: list });

const ofNumber =
  (compute: (value: number) => number): Implementation =>
  ([value]) =>
    isNumber(value) ? compute(Number(value)) : null;

const ofNumbers =
  (compute: (value: number, other: number) => number): Implementation =>
  ([value, other]) =>
    isNumber(value) && isNumber(other) ? compute(Number(value), Number(other)) : null;

/** With a negative precision, integers are computed as doubles: those beyond 2^53 are inexact. */
const rounding =
  (round: (value: number, precision: number) => number): Implementation =>
  ([value, precision = 0]) => {
    if (!isNumber(value) || typeof precision !== 'number' || !Number.isInteger(precision)) return null;
    if (precision >= 0 && integerOf(value) !== undefined) return value;
    const result = round(Number(value), precision);
    return Object.is(result, -0) ? 0 : result;
  };

/**
 * Moves the decimal point by `precision` places, rounds, and moves it back. Where a double cannot hold the moved number, there is nothing
 * to round: the digits of the number end before that place.
 */
function scaled(value: number, precision: number, round: (moved: number) => number): number {
  const power = 10 ** precision;
  const moved = value * power;
  if (!Number.isFinite(moved)) return value;
  return power === 0 ? 0 : round(moved) / power;
}

/** Rounds halves to even, or away from zero. */
const rounded =
  (toEven: boolean) =>
  (value: number, precision: number): number =>
    Math.sign(value) *
    scaled(Math.abs(value), precision, (moved) => {
      const raised = moved + 0.5;
      const floor = Math.floor(raised);
      return toEven && floor === raised && floor % 2 !== 0 ? floor - 1 : floor;
    });

const truncated = (value: number, precision: number): number => scaled(value, precision, Math.trunc);

const abs: Implementation = ([value]) => {
  if (typeof value === 'bigint') return integerValue(value < 0n ? -value : value);
  return typeof value === 'number' ? Math.abs(value) : null;
};

/** For results that are integers: a bigint is one already. Adding 0 turns -0 into 0. */
const integerResult =
  (compute: (value: number) => number): Implementation =>
  ([value]) =>
    typeof value === 'bigint' ? value : typeof value === 'number' ? compute(value) + 0 : null;

/** With a seed, always the same number. */
const random: Implementation = ([seed], context) => {
  if (seed === undefined) return context.random();
  return typeof seed === 'number' && Number.isInteger(seed) ? seeded(seed) : null;
};

/** The first number of the generator Mulberry32. */
function seeded(seed: number): number {
  // 32 bits of state, made of all bits of an integer.
  let state = (seed ^ (seed / 2 ** 32)) >>> 0;
  state = (state + 0x6d2b79f5) >>> 0;
  let mixed = Math.imul(state ^ (state >>> 15), state | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

const folded =
  (combine: (a: Value, b: Value) => Value): Implementation =>
  (values) =>
    values.slice(1).reduce(combine, values[0]);

const missing = { nulls: 'onlyMissing' } as const;

export const numbers = new Declarations('number')
  .add('abs', 'number', 'The absolute value.', abs)
  .add('acos', 'number', 'The arc cosine, in radians.', ofNumber(Math.acos))
  .add('asin', 'number', 'The arc sine, in radians.', ofNumber(Math.asin))
  .add('atan', 'number', 'The arc tangent, in radians.', ofNumber(Math.atan))
  .add('atan2', 'y, x', 'The arc tangent of y / x, in radians.', ofNumbers(Math.atan2))
  .add('ceil', 'number', 'The smallest integer that is not smaller.', integerResult(Math.ceil))
  .add('cos', 'radians', 'The cosine.', ofNumber(Math.cos))
  .add(
    'degrees',
    'radians',
    'The angle in degrees.',
    ofNumber((value) => (value * 180) / Math.PI),
    synonyms('deg'),
  )
  .add('e', '', 'The base of natural logarithms.', () => Math.E)
  .add('exp', 'number', 'e to this power.', ofNumber(Math.exp))
  .add('floor', 'number', 'The largest integer that is not larger.', integerResult(Math.floor))
  .add('ln', 'number', 'The natural logarithm.', ofNumber(Math.log))
  .add('log', 'number', 'The logarithm to base 10.', ofNumber(Math.log10))
  .add('nan', '', 'NaN.', () => Number.NaN)
  .add('neginf', '', 'Negative infinity.', () => -Infinity, synonyms('neg_inf'))
  .add('pi', '', 'Pi.', () => Math.PI)
  .add('posinf', '', 'Infinity.', () => Infinity, synonyms('pos_inf', 'inf'))
  .add(
    'power',
    'number, exponent',
    'The number to this power.',
    ofNumbers((value, exponent) => (value === 1 ? 1 : value ** exponent)),
  )
  .add(
    'radians',
    'degrees',
    'The angle in radians.',
    ofNumber((value) => (value * Math.PI) / 180),
    synonyms('rad'),
  )
  .add('random', '[seed]', 'A number from 0 to below 1; with a seed always the same.', random, {
    varies: 'between calls',
  })
  .add(
    'round',
    'number [, digits]',
    'The number rounded to this many decimal places; halves go to the even neighbour.',
    rounding(rounded(true)),
    synonyms('round_even'),
  )
  .add(
    'round_nearest',
    'number [, digits]',
    'The number rounded to this many decimal places; halves go away from zero.',
    rounding(rounded(false)),
  )
  .add(
    'sign',
    'number',
    '-1, 0 or 1.',
    ofNumber((value) => (value < 0 ? -1 : value > 0 ? 1 : 0)),
  )
  .add('sin', 'radians', 'The sine.', ofNumber(Math.sin))
  .add('sqrt', 'number', 'The square root.', ofNumber(Math.sqrt))
  .add('tan', 'radians', 'The tangent.', ofNumber(Math.tan))
  .add('trunc', 'number [, digits]', 'The number truncated to this many decimal places.', rounding(truncated))
  .add('add', 'number, number [, number …]', 'The sum.', folded(add), missing)
  .add('sub', 'number, number', 'The difference.', ([a, b]) => subtract(a, b))
  .add('mult', 'number, number [, number …]', 'The product.', folded(multiply), missing)
  .add('div', 'number, number', 'The quotient; NULL for a division by 0.', ([a, b]) => divide(a, b))
  .add('mod', 'number, number', 'The remainder of a division; NULL for a division by 0.', ([a, b]) =>
    modulo(a, b),
  )
  .add(
    'idiv',
    'number, number',
    'The quotient of the integer parts, truncated; NULL for a division by 0.',
    ([a, b]) => divideIntegers(a, b),
  )
  .add('imod', 'number, number', 'The remainder of the integer parts; NULL for a division by 0.', ([a, b]) =>
    moduloIntegers(a, b),
  )
  .add('neg', 'number', 'The negated number.', ([value]) => negate(value));
