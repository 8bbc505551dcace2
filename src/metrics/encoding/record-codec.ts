// Encodes and decodes the tables of blocks and the records of the metrics write-ahead log: variable-length integers (seven bits per
// byte), strings and doubles.

const continuationBit = 0x80;
const initialBytes = 256;

export class RecordWriter {
  #bytes = Buffer.allocUnsafe(initialBytes);
  #length = 0;

  /** An unsigned integer. */
  number(value: number): this {
    this.#reserve(8);
    let remaining = value;
    while (remaining >= continuationBit) {
      this.#bytes[this.#length++] = (remaining % continuationBit) | continuationBit;
      remaining = Math.floor(remaining / continuationBit);
    }
    this.#bytes[this.#length++] = remaining;
    return this;
  }

  double(value: number): this {
    this.#reserve(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
    return this;
  }

  text(value: string): this {
    return this.blob(Buffer.from(value, 'utf8'));
  }

  /** The length, then the bytes. */
  blob(bytes: Uint8Array): this {
    this.number(bytes.length);
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  get length(): number {
    return this.#length;
  }

  /** Returns the bytes written so far and starts again with a new buffer. */
  drain(): Buffer {
    const written = this.#bytes.subarray(0, this.#length);
    this.#bytes = Buffer.allocUnsafe(initialBytes);
    this.#length = 0;
    return written;
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + bytes));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}

/** Reads values in the order they were written. Throws a RangeError past the end. */
export class RecordReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isDone(): boolean {
    return this.#at >= this.#bytes.length;
  }

  number(): number {
    let value = 0;
    for (let factor = 1; ; factor *= continuationBit) {
      const byte = this.#bytes.readUInt8(this.#at++);
      value += (byte % continuationBit) * factor;
      if (byte < continuationBit) return value;
    }
  }

  double(): number {
    const value = this.#bytes.readDoubleLE(this.#at);
    this.#at += 8;
    return value;
  }

  text(): string {
    return this.blob().toString('utf8');
  }

  blob(): Buffer {
    const length = this.number();
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new RangeError('the record ends early');
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }
}
