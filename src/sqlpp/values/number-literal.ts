// Parses number literals.

const integerMax = 2n ** 63n - 1n;
const integerMin = -(2n ** 63n);
/** Beyond this no number is an integer of 64 bits; the integers of millions of digits take minutes to compute. */
const doubleMax = 2 ** 63;

/** Digits with a sign, a fraction or an exponent. 64-bit integers are exact, larger ones become the nearest double. */
export function numberLiteral(text: string): number | bigint {
  const number = Number(text);
  if (Number.isSafeInteger(number) || Math.abs(number) > doubleMax || !/^-?[0-9]+$/.test(text)) return number;
  const integer = BigInt(text);
  if (integer > integerMax || integer < integerMin || BigInt(number) === integer) return number;
  return integer;
}
