// Arithmetic and functions of filter expressions. Whole numbers stay whole: 1/4 is 0.
import { LargeInteger } from './large-integer.ts';
import type { ArithmeticSign } from './tree.ts';
import { type FilterValue, noValue } from './values.ts';

type Numeric = (...args: number[]) => number;

const degrees = 180 / Math.PI;

/** By name; the `length` of a function is the number of its arguments. */
export const numberFunctions: Readonly<Record<string, Numeric>> = {
  PI: () => Math.PI,
  E: () => Math.E,
  ABS: (x) => Math.abs(x as number),
  ACOS: (x) => Math.acos(x as number),
  ASIN: (x) => Math.asin(x as number),
  ATAN: (x) => Math.atan(x as number),
  CEIL: (x) => Math.ceil(x as number),
  COS: (x) => Math.cos(x as number),
  DEGREES: (x) => (x as number) * degrees,
  EXP: (x) => Math.exp(x as number),
  FLOOR: (x) => Math.floor(x as number),
  LOG: (x) => Math.log10(x as number),
  LN: (x) => Math.log(x as number),
  SIN: (x) => Math.sin(x as number),
  TAN: (x) => Math.tan(x as number),
  RADIANS: (x) => (x as number) / degrees,
  // Rounds halves away from zero.
  ROUND: (x) => Math.sign(x as number) * Math.round(Math.abs(x as number)),
  SQRT: (x) => Math.sqrt(x as number),
  ATAN2: (y, x) => Math.atan2(y as number, x as number),
  POW: (x, y) => (x as number) ** (y as number),
};

/** Undefined if an argument is missing; `noValue` if one is not a number. */
export function callFunction(name: string, args: readonly FilterValue[]): FilterValue {
  if (args.includes(undefined)) return undefined;
  const numbers = args.map(doubleOf);
  if (numbers.some((one) => typeof one !== 'number')) return noValue;
  return finite((numberFunctions[name] as Numeric)(...(numbers as number[])));
}

/** `hasFractions`: a quotient of whole numbers keeps its fraction. */
export function calculate(
  sign: ArithmeticSign,
  first: FilterValue,
  second: FilterValue,
  hasFractions: boolean,
): FilterValue {
  if (first === undefined || second === undefined) return undefined;
  if (sign === '-' && first === 0 && second instanceof LargeInteger) return new LargeInteger(-second.value);
  const [left, right] = [doubleOf(first), doubleOf(second)];
  if (typeof left !== 'number' || typeof right !== 'number') return noValue;
  const isInteger = !hasFractions && Number.isInteger(left) && Number.isInteger(right);
  const result = resultOf(sign, left, right);
  if (!isInteger) return finite(result);
  // Whole numbers have 64 bits: a larger result is no value.
  return Math.abs(result) < 2 ** 63 ? Math.trunc(result) : noValue;
}

/** Calculations have doubles only. */
const doubleOf = (value: FilterValue): FilterValue =>
  value instanceof LargeInteger ? Number(value.value) : value;

function resultOf(sign: ArithmeticSign, left: number, right: number): number {
  switch (sign) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    case '%':
      return Math.trunc(left) % Math.trunc(right);
  }
}

/** `+ 0` turns minus zero into 0. */
const finite = (result: number): FilterValue => (Number.isFinite(result) ? result + 0 : noValue);
