// Parses number literals.

const integerMax = 2n ** 63n - 1n;
const integerMin = -(2n ** 63n);
/** Larger numbers are not integers of 64 bits. Converting text of millions of digits to a bigint would take minutes. */
const doubleMax = 2 ** 63;

/** Digits with a sign, a fraction or an exponent. 64-bit integers are exact, larger ones become the nearest double. */
export function numberLiteral(text: string): number | bigint {
  const number = Number(text);
  if (Number.isSafeInteger(number) || Math.abs(number) > doubleMax || !/^-?[0-9]+$/.test(text)) return number;
  const integer = BigInt(text);
  if (integer > integerMax || integer < integerMin || BigInt(number) === integer) return number;
  return integer;
}
