// Decodes index keys into values, from which a covering scan answers. Damaged bytes always throw a KeyFormatError.
import { Binary, newObject, setMember, type Value } from '#sqlpp/values/value.ts';
import {
  escapeByte,
  hasResidual,
  KeyType,
  lowSurrogateByte,
  residualBias,
  unpairedByte,
} from './key-format.ts';

/** No valid key is deeper: documents have at most 2,000 levels, and the expressions of keys 400. */
const depthMax = 2_400;
const double = new DataView(new ArrayBuffer(8));
const noBytes = new Uint8Array(0);

export class KeyFormatError extends Error {
  constructor(at: number, reason: string) {
    super(`index key, byte ${at}: ${reason}`);
  }
}

export class KeyReader {
  private bytes: Uint8Array = noBytes;
  private at = 0;
  /** 0xff while a descending component is read, whose bytes are inverted; else 0. */
  private mask = 0;
  private depth = 0;

  /** Sets a key to read, and the position of the component to begin with, by default the first. */
  reset(key: Uint8Array, at = 0): this {
    this.bytes = key;
    this.at = at;
    return this;
  }

  get position(): number {
    return this.at;
  }

  read(isDescending = false): Value {
    this.mask = isDescending ? 0xff : 0;
    this.depth = 0;
    return this.value();
  }

  /** Skips a component without decoding its value. */
  skip(isDescending = false): void {
    this.mask = isDescending ? 0xff : 0;
    this.depth = 0;
    this.skipValue();
  }

  private value(): Value {
    const type = this.byte();
    switch (type) {
      case KeyType.missing:
        return undefined;
      case KeyType.null:
        return null;
      case KeyType.false:
      case KeyType.true:
        return type === KeyType.true;
      case KeyType.number:
        return this.number();
      case KeyType.string:
        return this.string();
      // Each level of nesting takes two calls on the stack. With four, the deepest keys would overflow it.
      case KeyType.array:
        return this.array();
      case KeyType.object:
        return this.object();
      case KeyType.binary:
        return new Binary(this.text());
      default:
        throw new KeyFormatError(this.at - 1, `has the unknown type ${type}`);
    }
  }

  private beginLevel(): void {
    if (++this.depth > depthMax) throw new KeyFormatError(this.at, 'is nested too deep');
  }

  private skipValue(): void {
    const type = this.byte();
    if (type === KeyType.number) this.skipNumber();
    else if (type === KeyType.string || type === KeyType.binary) this.skipText();
    else if (type > KeyType.true || type === KeyType.end) {
      this.at--;
      this.value();
    }
  }

  private skipNumber(): void {
    if (hasResidual(this.double())) this.advance(2);
  }

  private number(): number | bigint {
    const rounded = this.double();
    if (!hasResidual(rounded)) return rounded;
    const at = this.advance(2);
    const residual = ((this.raw(at) << 8) | this.raw(at + 1)) - residualBias;
    return residual === 0 ? rounded : BigInt(rounded) + BigInt(residual);
  }

  private double(): number {
    const at = this.advance(8);
    const [high, low] = [this.word(at), this.word(at + 4)];
    if (high === 0 && low === 0) return Number.NaN;
    const isNegative = high >>> 31 === 0;
    double.setUint32(0, isNegative ? ~high : high & 0x7fffffff);
    double.setUint32(4, isNegative ? ~low : low);
    return double.getFloat64(0);
  }

  private word(at: number): number {
    return (
      ((this.raw(at) << 24) | (this.raw(at + 1) << 16) | (this.raw(at + 2) << 8) | this.raw(at + 3)) >>> 0
    );
  }

  private skipText(): void {
    // The byte 0 ends a text; inverted by the mask of a descending component, it equals the mask.
    const end = this.bytes.indexOf(this.mask, this.at);
    if (end < 0) throw new KeyFormatError(this.at, 'has a text without end');
    this.at = end + 1;
  }

  private string(): string {
    const { bytes, mask, at: start } = this;
    if (mask === 0 && Buffer.isBuffer(bytes)) {
      let at = start;
      while (isPlain(bytes[at] as number)) at++;
      if (bytes[at] === 0) {
        this.at = at + 1;
        return bytes.toString('latin1', start, at);
      }
    }
    return textOf(this.text());
  }

  /** A copy, without escapes and inversion. */
  private text(): Uint8Array {
    const start = this.at;
    this.skipText();
    const { bytes, mask } = this;
    const text = Buffer.allocUnsafe(this.at - 1 - start);
    let length = 0;
    for (let at = start; at < this.at - 1; at++) {
      let byte = (bytes[at] as number) ^ mask;
      if (byte === escapeByte) byte = this.unescaped(++at);
      text[length++] = byte;
    }
    return text.subarray(0, length);
  }

  private unescaped(at: number): number {
    const byte = this.raw(at);
    if (byte !== 1 && byte !== 2) throw new KeyFormatError(at, 'has a wrong escape');
    return byte - 1;
  }

  private array(): Value[] {
    this.beginLevel();
    const elements: Value[] = [];
    while (this.raw(this.at) !== KeyType.end) elements.push(this.value());
    this.at++;
    this.depth--;
    return elements;
  }

  private object(): Value {
    const members = this.word(this.advance(4));
    if (members > this.bytes.length) throw new KeyFormatError(this.at, 'has too many members');
    this.beginLevel();
    const object = newObject();
    for (let member = 0; member < members; member++) {
      if (this.byte() !== KeyType.string) throw new KeyFormatError(this.at - 1, 'has no name');
      const name = textOf(this.text());
      setMember(object, name, this.value());
    }
    this.depth--;
    return object;
  }

  private byte(): number {
    return this.raw(this.advance(1));
  }

  private raw(at: number): number {
    const byte = this.bytes[at];
    if (byte === undefined) throw new KeyFormatError(at, 'ends too early');
    return byte ^ this.mask;
  }

  private advance(count: number): number {
    const at = this.at;
    this.at += count;
    return at;
  }
}

/** Whether the byte stands for itself. */
const isPlain = (byte: number): boolean => byte > escapeByte && byte < 0x80;

function textOf(text: Uint8Array): string {
  const decoded = Buffer.from(text.buffer, text.byteOffset, text.length).toString();
  return decoded.includes('\ufffd') ? textWithSurrogates(text) : decoded;
}

/** Decodes UTF-8 and the unpaired surrogates of the key format. */
function textWithSurrogates(text: Uint8Array): string {
  let decoded = '';
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const [unit, length] = unpairedAt(text, at);
    if (length === 0) continue;
    decoded += Buffer.from(text.subarray(start, at)).toString() + String.fromCharCode(unit);
    start = at + length;
    at = start - 1;
  }
  return decoded + Buffer.from(text.subarray(start)).toString();
}

/** The unpaired surrogate that begins at a byte, and its length; length 0 if none begins there. */
function unpairedAt(text: Uint8Array, at: number): [unit: number, length: number] {
  const [lead = 0, second = 0, third = 0, fourth = 0] = text.subarray(at, at + 4);
  if (lead === lowSurrogateByte) return [0xdc00 | ((second & 0x0f) << 6) | (third & 0x3f), 3];
  if (lead < 0xf0 || fourth !== unpairedByte) return [0, 0];
  const pair = Buffer.from([lead, second, third, 0x80]).toString();
  return [pair.charCodeAt(0), 4];
}
