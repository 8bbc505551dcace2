// Positions, counts and depths: whole numbers as doubles, also integers beyond 2^53, which values hold as bigints.
import type { Value } from './value.ts';

/** The number if it is whole, rounded beyond 2^53, where no array or text ends; infinite ones are whole. Undefined for other values. */
export function integerOf(value: Value): number | undefined {
  if (typeof value === 'number') return value === Math.trunc(value) ? value : undefined;
  return typeof value === 'bigint' ? Number(value) : undefined;
}

/** Like `integerOf`, without infinite numbers. */
export function finiteIntegerOf(value: Value): number | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? value : undefined;
  return typeof value === 'bigint' ? Number(value) : undefined;
}
