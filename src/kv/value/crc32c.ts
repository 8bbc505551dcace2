// CRC-32C (Castagnoli, RFC 3720 appendix B.4), table driven.

/** A polynomial times x; the highest bit of a number is its constant term. */
const timesX = (value: number): number => (value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1);

const table = new Uint32Array(256).map((_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = timesX(value);
  return value;
});

/** Checksum of a range, as an unsigned 32-bit number. */
export function crc32c(bytes: Uint8Array, start: number, end: number): number {
  return ~remainder(0xffffffff, bytes, start, end) >>> 0;
}

/**
 * The checksum of bytes of which a part has changed, in a time that does not depend on their number. `checksum`: that of the bytes as
 * they were; `changed`: the part as it was XOR the part as it is; `after`: the number of bytes after the part.
 */
export function crc32cChanged(checksum: number, changed: Uint8Array, after: number): number {
  let difference = remainder(0, changed, 0, changed.length);
  // Each bit of `after` stands for that many zero bytes: `power` is x to eight times their number.
  let power = 2 ** 23;
  for (let left = after; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) difference = product(difference, power);
    power = product(power, power);
  }
  return (checksum ^ difference) >>> 0;
}

function remainder(initial: number, bytes: Uint8Array, start: number, end: number): number {
  let crc = initial;
  for (let at = start; at < end; at++) {
    crc = (table[(crc ^ (bytes[at] as number)) & 0xff] as number) ^ (crc >>> 8);
  }
  return crc;
}

/** Modulo the polynomial of the checksum. */
function product(a: number, b: number): number {
  let sum = 0;
  for (let bit = 31, power = b; bit >= 0; bit--, power = timesX(power)) if ((a >>> bit) & 1) sum ^= power;
  return sum;
}
