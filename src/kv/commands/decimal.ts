// Unsigned 64-bit integers as two words, and as decimal text, the stored form of counters.

/** The accumulator of the functions below: readDecimal sets it, add64 and subtract64 change it, writeDecimal prints it. */
export const number64 = { hi: 0, lo: 0 };

const two32 = 2 ** 32;
/** Digits of 2^64 - 1. */
export const decimalBytesMax = 20;

/** Parses decimal text into `number64`; returns false if it is not a decimal number or exceeds 64 bits. */
export function readDecimal(buffer: Buffer, start: number, end: number): boolean {
  if (end === start || end - start > decimalBytesMax) return false;
  let hi = 0;
  let lo = 0;
  for (let at = start; at < end; at++) {
    const digit = (buffer[at] as number) - 48;
    if (digit < 0 || digit > 9) return false;
    const product = lo * 10 + digit;
    lo = product % two32;
    hi = hi * 10 + Math.floor(product / two32);
    if (hi >= two32) return false;
  }
  number64.hi = hi;
  number64.lo = lo;
  return true;
}

/** Writes `number64` as decimal text; returns its end. */
export function writeDecimal(buffer: Buffer, start: number): number {
  let { hi, lo } = number64;
  let digits = 0;
  do {
    const dividend = (hi % 10) * two32 + lo;
    hi = Math.floor(hi / 10);
    lo = Math.floor(dividend / 10);
    reversed[digits++] = 48 + (dividend % 10);
  } while (hi > 0 || lo > 0);
  for (let at = 0; at < digits; at++) buffer[start + at] = reversed[digits - 1 - at] as number;
  return start + digits;
}

const reversed = new Uint8Array(decimalBytesMax);

/** Adds to `number64`, wrapping at 2^64. */
export function add64(hi: number, lo: number): void {
  const sum = number64.lo + lo;
  number64.lo = sum % two32;
  number64.hi = (number64.hi + hi + Math.floor(sum / two32)) % two32;
}

/** Subtracts from `number64`, stopping at 0. */
export function subtract64(hi: number, lo: number): void {
  const isBelow = number64.hi < hi || (number64.hi === hi && number64.lo < lo);
  const difference = number64.lo - lo;
  number64.hi = isBelow ? 0 : number64.hi - hi - (difference < 0 ? 1 : 0);
  number64.lo = isBelow ? 0 : difference < 0 ? difference + two32 : difference;
}
