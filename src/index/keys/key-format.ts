// The order-preserving form of index keys: comparing the bytes of two keys compares their values as the language collates them.
// A key is the concatenation of its components. Each component starts with its type and delimits itself, so that no component is a
// prefix of another one. A descending component has all its bytes inverted. src/index/DESIGN.md has the table of layouts.

/** First byte of a component, in collation order. 0 ends arrays and strings, so that a shorter one sorts before a longer one. */
export const KeyType = {
  end: 0,
  missing: 1,
  null: 2,
  false: 3,
  true: 4,
  number: 5,
  string: 6,
  array: 7,
  object: 8,
  binary: 9,
} as const;

/** In strings the bytes 0 and 1 are written as 1 1 and 1 2, because 0 is the end. */
export const escapeByte = 1;

/** From here on a double does not represent every integer: two bytes with the difference follow. */
const exactIntegersEnd = 2 ** 53;
/** Integers have 64 bits: no exact one rounds to a double beyond this. */
const integersEnd = 2 ** 63;
/** Added to the difference between the integer and the double (from -512 to 512), so that it sorts as an unsigned number. */
export const residualBias = 0x8000;

export const hasResidual = (double: number): boolean =>
  (double >= exactIntegersEnd && double <= integersEnd) ||
  (double <= -exactIntegersEnd && double >= -integersEnd);

/** Follows the first three bytes of an unpaired high surrogate, so that it sorts before the pairs that begin with it. */
export const unpairedByte = 2;
/** First byte of an unpaired low surrogate: sorts after all pairs. */
export const lowSurrogateByte = 0xf8;

/** The bytes of an unpaired surrogate in a text. A high one sorts before the pairs that begin with it, a low one after all pairs. */
export function surrogateBytes(unit: number): number[] {
  if (unit >= 0xdc00) return [lowSurrogateByte, 0x80 | ((unit >> 6) & 0x0f), 0x80 | (unit & 0x3f)];
  const [lead = 0, second = 0, third = 0] = Buffer.from(String.fromCharCode(unit, 0xdc00));
  return [lead, second, third, unpairedByte];
}
