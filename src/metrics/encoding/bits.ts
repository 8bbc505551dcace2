// A bit stream: writes numbers bit by bit into a growing buffer, most significant bit first, and reads them back.

const firstBytes = 32;

export class BitWriter {
  #bytes: Uint8Array = new Uint8Array(firstBytes);
  #bits = 0;

  /** Writes the lowest `count` bits of the number, at most 32. */
  write(value: number, count: number): void {
    if (this.#bits + count > this.#bytes.length * 8) this.#grow();
    const bytes = this.#bytes;
    let remaining = count;
    while (remaining > 0) {
      const free = 8 - (this.#bits & 7);
      const count = Math.min(free, remaining);
      const part = (value >>> (remaining - count)) & ((1 << count) - 1);
      bytes[this.#bits >>> 3] = (bytes[this.#bits >>> 3] as number) | (part << (free - count));
      this.#bits += count;
      remaining -= count;
    }
  }

  get byteLength(): number {
    return (this.#bits + 7) >>> 3;
  }

  /** The bytes written so far. A view: later writes change it. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.byteLength);
  }

  #grow(): void {
    const grown = new Uint8Array(this.#bytes.length * 2);
    grown.set(this.#bytes);
    this.#bytes = grown;
  }
}

export class BitReader {
  readonly #bytes: Uint8Array;
  #bits = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** The next `count` bits, at most 32, as an unsigned number. Past the end it reads zeros. */
  read(count: number): number {
    let value = 0;
    let remaining = count;
    while (remaining > 0) {
      const free = 8 - (this.#bits & 7);
      const count = Math.min(free, remaining);
      const byte = this.#bytes[this.#bits >>> 3] ?? 0;
      value = (value << count) | ((byte >>> (free - count)) & ((1 << count) - 1));
      this.#bits += count;
      remaining -= count;
    }
    return value >>> 0;
  }
}
