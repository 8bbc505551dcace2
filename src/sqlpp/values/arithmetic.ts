// Arithmetic: a MISSING operand gives MISSING, one that is not a number NULL. Integers are exact within 64 bits; beyond them the result is
// the nearest double.
import type { Value } from './value.ts';

const integerMax = 2n ** 63n - 1n;
const integerMin = -(2n ** 63n);

/** Converts an integer to its value: a number if a double represents it exactly, else a bigint. */
export function integerValue(integer: bigint): number | bigint {
  const number = Number(integer);
  if (Number.isSafeInteger(number)) return number;
  if (integer > integerMax || integer < integerMin) return number;
  return BigInt(number) === integer ? number : integer;
}

/** Doubles from here on may be rounded integers. */
const exactMax = Number.MAX_SAFE_INTEGER;

function isExact(value: number): boolean {
  return value <= exactMax && value >= -exactMax;
}

/** Both operands as integers, if both are integers of 64 bits. */
function integers(a: number | bigint, b: number | bigint): readonly [bigint, bigint] | undefined {
  const [left, right] = [integerOf(a), integerOf(b)];
  return left === undefined || right === undefined ? undefined : [left, right];
}

export function integerOf(value: number | bigint): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (!Number.isInteger(value) || value >= 2 ** 63 || value < -(2 ** 63)) return undefined;
  return BigInt(value);
}

export function add(a: Value, b: Value): Value {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b;
    return isExact(sum) ? sum : exactly(a, b, sum, (left, right) => left + right);
  }
  return withBigints(
    a,
    b,
    (left, right) => left + right,
    (left, right) => left + right,
  );
}

export function subtract(a: Value, b: Value): Value {
  if (typeof a === 'number' && typeof b === 'number') {
    const difference = a - b;
    return isExact(difference) ? difference : exactly(a, b, difference, (left, right) => left - right);
  }
  return withBigints(
    a,
    b,
    (left, right) => left - right,
    (left, right) => left - right,
  );
}

export function multiply(a: Value, b: Value): Value {
  if (typeof a === 'number' && typeof b === 'number') {
    const product = a * b;
    return isExact(product) ? product : exactly(a, b, product, (left, right) => left * right);
  }
  return withBigints(
    a,
    b,
    (left, right) => left * right,
    (left, right) => left * right,
  );
}

/** Always in doubles; by 0: NULL. */
export function divide(a: Value, b: Value): Value {
  if (a === undefined || b === undefined) return undefined;
  if (!isNumeric(a) || !isNumeric(b)) return null;
  const divisor = Number(b);
  return divisor === 0 ? null : Number(a) / divisor;
}

/** The remainder in doubles, with the sign of `a`; by 0: NULL. */
export function modulo(a: Value, b: Value): Value {
  if (a === undefined || b === undefined) return undefined;
  if (!isNumeric(a) || !isNumeric(b)) return null;
  const divisor = Number(b);
  return divisor === 0 ? null : Number(a) % divisor;
}

/** IDIV: the quotient of integers, towards 0. */
export function divideIntegers(a: Value, b: Value): Value {
  return integerOperation(a, b, (left, right) => left / right);
}

/** IMOD: the remainder of that quotient, with the sign of `a`. */
export function moduloIntegers(a: Value, b: Value): Value {
  return integerOperation(a, b, (left, right) => left % right);
}

export function negate(value: Value): Value {
  if (typeof value === 'number') return value === 0 ? 0 : -value;
  if (typeof value === 'bigint') return integerValue(-value);
  return value === undefined ? undefined : null;
}

function isNumeric(value: Value): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** Recomputes with bigints when the result exceeds the exact integers of doubles. */
function exactly(a: number, b: number, inexact: number, compute: (a: bigint, b: bigint) => bigint): Value {
  const operands = integers(a, b);
  if (operands === undefined) return inexact;
  return integerValue(compute(...operands));
}

function withBigints(
  a: Value,
  b: Value,
  ofIntegers: (a: bigint, b: bigint) => bigint,
  ofNumbers: (a: number, b: number) => number,
): Value {
  if (a === undefined || b === undefined) return undefined;
  if (!isNumeric(a) || !isNumeric(b)) return null;
  const operands = integers(a, b);
  return operands === undefined ? ofNumbers(Number(a), Number(b)) : integerValue(ofIntegers(...operands));
}

function integerOperation(a: Value, b: Value, compute: (a: bigint, b: bigint) => bigint): Value {
  if (a === undefined || b === undefined) return undefined;
  if (!isNumeric(a) || !isNumeric(b)) return null;
  const [left, right] = [truncated(a), truncated(b)];
  if (left === undefined || right === undefined || right === 0n) return null;
  return integerValue(compute(left, right));
}

function truncated(value: number | bigint): bigint | undefined {
  if (typeof value === 'bigint') return value;
  return Number.isFinite(value) ? BigInt(Math.trunc(value)) : undefined;
}
