// Numbers of 64 bits, such as the uuids of vbucket histories, that clients send in decimal text.

const decimal = /^(?:\d{1,20}|-\d{1,19})$/;
const signedMin = -(2n ** 63n);
const unsignedMax = 2n ** 64n - 1n;

/** The unsigned number. SDKs in Java have only signed numbers and send the upper half as negative ones. null: not a number of 64 bits. */
export function uint64OfText(text: string): bigint | null {
  if (!decimal.test(text)) return null;
  const number = BigInt(text);
  return number < signedMin || number > unsignedMax ? null : BigInt.asUintN(64, number);
}
