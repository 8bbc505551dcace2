// Strings as UTF-8 bytes, in which the language counts positions and lengths.

const nonAscii = /[^\0-\x7f]/;

export function isAscii(text: string): boolean {
  return !nonAscii.test(text);
}

export function byteLength(text: string): number {
  return Buffer.byteLength(text);
}

/** The part between two byte offsets; half characters become the replacement character. */
export function byteSlice(text: string, start: number, end?: number): string {
  return isAscii(text) ? text.slice(start, end) : Buffer.from(text).subarray(start, end).toString();
}

/** The byte offset of a character offset. */
export function byteOffset(text: string, offset: number): number {
  return offset < 0 ? offset : Buffer.byteLength(text.slice(0, offset));
}
