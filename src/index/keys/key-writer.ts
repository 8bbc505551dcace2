// Encodes index keys in their order-preserving form into one buffer that grows, and refuses keys that are too long.
import { Binary, RawJson, type Value, type ValueObject } from '#sqlpp/values/value.ts';
import { escapeByte, hasResidual, KeyType, residualBias, surrogateBytes } from './key-format.ts';

const initialBytes = 256;
/** The type, a double, and the difference to the exact integer. */
const numberBytesMax = 1 + 8 + 2;
const utf8Encoder = new TextEncoder();
const double = new DataView(new ArrayBuffer(8));

/** The key exceeds the length limit of index keys. */
export class KeyTooLongError extends Error {
  constructor(limitBytes: number) {
    super(`an index key has more than ${limitBytes} bytes`);
  }
}

export class KeyWriter {
  private readonly limitBytes: number;
  private bytes = Buffer.allocUnsafeSlow(initialBytes);
  private at = 0;

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  /** Where the next component starts. */
  get length(): number {
    return this.at;
  }

  /** Removes everything from `length` on. */
  truncate(length = 0): void {
    this.at = length;
  }

  /** Appends a component. After a KeyTooLongError the caller must truncate the key. */
  write(value: Value, isDescending = false): void {
    const start = this.at;
    this.value(value);
    if (isDescending) this.invert(start);
  }

  /** Appends encoded components. After a KeyTooLongError the caller must truncate the key. */
  append(components: Uint8Array): void {
    this.reserve(components.length);
    this.bytes.set(components, this.at);
    this.at += components.length;
    this.checkLimit();
  }

  /** A copy of what was written from `start` on. */
  copy(start = 0): Buffer {
    return Buffer.from(this.bytes.subarray(start, this.at));
  }

  /** Size of the buffer, which never shrinks. */
  get reservedBytes(): number {
    return this.bytes.length;
  }

  /** A view of the written bytes, valid until the next write. */
  view(start = 0): Buffer {
    return this.bytes.subarray(start, this.at);
  }

  private value(value: Value): void {
    if (value === undefined) this.byte(KeyType.missing);
    else if (typeof value === 'string') this.string(value, KeyType.string);
    else if (typeof value === 'number') this.number(value, 0);
    else if (typeof value === 'boolean') this.byte(value ? KeyType.true : KeyType.false);
    else if (typeof value === 'bigint') this.integer(value);
    else this.structure(value);
  }

  private structure(value: null | Binary | RawJson | readonly Value[] | ValueObject): void {
    if (value === null) this.byte(KeyType.null);
    else if (Array.isArray(value)) this.array(value as readonly Value[]);
    else if (value instanceof Binary) this.escapedBytes(value.bytes, KeyType.binary);
    else if (value instanceof RawJson) throw new TypeError('JSON text in an index key was not parsed');
    else this.object(value as ValueObject);
  }

  private number(value: number, residual: number): void {
    this.reserve(numberBytesMax);
    this.bytes[this.at++] = KeyType.number;
    this.double(value);
    if (hasResidual(value)) {
      const biased = residual + residualBias;
      this.bytes[this.at++] = biased >>> 8;
      this.bytes[this.at++] = biased & 0xff;
    }
    this.checkLimit();
  }

  /** Writes negative numbers inverted, positive ones with the sign bit set, and NaN as zeros, so that it comes first. */
  private double(value: number): void {
    if (Number.isNaN(value)) {
      this.bytes.fill(0, this.at, this.at + 8);
      this.at += 8;
      return;
    }
    double.setFloat64(0, value === 0 ? 0 : value);
    const [high, low] = [double.getUint32(0), double.getUint32(4)];
    const isNegative = high >>> 31 === 1;
    this.word(isNegative ? ~high : high | 0x80000000);
    this.word(isNegative ? ~low : low);
  }

  private word(word: number): void {
    const { bytes } = this;
    bytes[this.at++] = word >>> 24;
    bytes[this.at++] = word >>> 16;
    bytes[this.at++] = word >>> 8;
    bytes[this.at++] = word;
  }

  private integer(value: bigint): void {
    const rounded = Number(value);
    this.number(rounded, Number(value - BigInt(rounded)));
  }

  private string(value: string, type: number): void {
    const units = value.length;
    this.reserve(2 * units + 2);
    const start = this.at;
    const { bytes } = this;
    let at = start;
    bytes[at++] = type;
    for (let index = 0; index < units; index++) {
      const unit = value.charCodeAt(index);
      if (unit >= 0x80) {
        this.escapedBytes(utf8Of(value), type);
        return;
      }
      if (unit <= escapeByte) {
        bytes[at++] = escapeByte;
        bytes[at++] = unit + 1;
      } else bytes[at++] = unit;
    }
    bytes[at++] = KeyType.end;
    this.at = at;
    this.checkLimit();
  }

  /** Writes the type, the escaped bytes of a string or a binary value, and the end. */
  private escapedBytes(unescaped: Uint8Array, type: number): void {
    this.reserve(2 * unescaped.length + 2);
    const { bytes } = this;
    let at = this.at;
    bytes[at++] = type;
    for (let index = 0; index < unescaped.length; index++) {
      const byte = unescaped[index] as number;
      if (byte <= escapeByte) {
        bytes[at++] = escapeByte;
        bytes[at++] = byte + 1;
      } else bytes[at++] = byte;
    }
    bytes[at++] = KeyType.end;
    this.at = at;
    this.checkLimit();
  }

  private array(elements: readonly Value[]): void {
    this.byte(KeyType.array);
    for (const element of elements) this.value(element);
    this.byte(KeyType.end);
  }

  /** The number of members decides first, then name, value, name, value in the order of names. */
  private object(object: ValueObject): void {
    const names = Object.keys(object).filter((name) => object[name] !== undefined);
    this.byte(KeyType.object);
    this.reserve(4);
    this.word(names.length);
    for (const name of sortedByUtf8(names)) {
      this.string(name, KeyType.string);
      this.value(object[name]);
    }
  }

  private byte(byte: number): void {
    this.reserve(1);
    this.bytes[this.at++] = byte;
    this.checkLimit();
  }

  private invert(start: number): void {
    const { bytes, at } = this;
    for (let index = start; index < at; index++) bytes[index] = ~(bytes[index] as number);
  }

  private checkLimit(): void {
    if (this.at > this.limitBytes) throw new KeyTooLongError(this.limitBytes);
  }

  /**
   * Grows the buffer to at least twice its size. A string, which reserves twice its length, is refused first if it needs more than
   * 4 * limit + 64 bytes, because its key would be too long. All that is written is checked against the limit, so the buffer stays below
   * 10 * limit + 128 bytes (and 256 at least).
   */
  private reserve(more: number): void {
    const needed = this.at + more;
    if (needed <= this.bytes.length) return;
    if (more > 4 * this.limitBytes + 64) throw new KeyTooLongError(this.limitBytes);
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.bytes.length));
    this.bytes.copy(grown, 0, 0, this.at);
    this.bytes = grown;
  }
}

/** Encodes a string in UTF-8; each unpaired surrogate gets bytes that keep the order. */
function utf8Of(text: string): Uint8Array {
  if (text.isWellFormed()) return utf8Encoder.encode(text);
  const bytes: number[] = [];
  for (const symbol of text) {
    const point = symbol.codePointAt(0) as number;
    if (point >= 0xd800 && point <= 0xdfff) bytes.push(...surrogateBytes(point));
    else bytes.push(...utf8Encoder.encode(symbol));
  }
  return Uint8Array.from(bytes);
}

/** JavaScript sorts by UTF-16 units, which differs from UTF-8 only where surrogates meet units from U+E000 on. */
function sortedByUtf8(names: string[]): string[] {
  const hasSurrogates = names.some((name) => /[\ud800-\udfff]/.test(name));
  if (!hasSurrogates) return names.sort();
  return names
    .map((name) => ({ name, bytes: utf8Of(name) }))
    .sort((left, right) => Buffer.compare(left.bytes, right.bytes))
    .map(({ name }) => name);
}
