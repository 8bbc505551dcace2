// Big-endian integers in buffers. Buffer's own methods check their arguments on every call and are not inlined, which costs
// a tenth of the time of a request.

export const readU16 = (buffer: Uint8Array, at: number): number =>
  ((buffer[at] as number) << 8) | (buffer[at + 1] as number);

export function readU32(buffer: Uint8Array, at: number): number {
  const high = (buffer[at] as number) << 24;
  return (
    (high |
      ((buffer[at + 1] as number) << 16) |
      ((buffer[at + 2] as number) << 8) |
      (buffer[at + 3] as number)) >>>
    0
  );
}

export function writeU16(buffer: Uint8Array, at: number, value: number): void {
  buffer[at] = value >>> 8;
  buffer[at + 1] = value;
}

export function writeU32(buffer: Uint8Array, at: number, value: number): void {
  buffer[at] = value >>> 24;
  buffer[at + 1] = value >>> 16;
  buffer[at + 2] = value >>> 8;
  buffer[at + 3] = value;
}

/** Reads an unsigned 64-bit integer as a number, exact below 2^53. */
export function readU64(buffer: Uint8Array, at: number): number {
  return readU32(buffer, at) * 2 ** 32 + readU32(buffer, at + 4);
}

/** Writes a number below 2^53 as eight bytes. */
export function writeU64(buffer: Uint8Array, at: number, value: number): void {
  writeU32(buffer, at, Math.floor(value / 2 ** 32));
  writeU32(buffer, at + 4, value >>> 0);
}

/** Reads an unsigned 48-bit integer. */
export function readU48(buffer: Uint8Array, at: number): number {
  return (((buffer[at] as number) << 8) | (buffer[at + 1] as number)) * 2 ** 32 + readU32(buffer, at + 2);
}

export function writeU48(buffer: Uint8Array, at: number, value: number): void {
  const high = Math.floor(value / 2 ** 32);
  buffer[at] = high >>> 8;
  buffer[at + 1] = high;
  writeU32(buffer, at + 2, value);
}
