// Parses JSON text to values: preserves 64-bit integers, creates objects without a prototype, and takes the first of duplicate members.
import { numberLiteral } from './number-literal.ts';
import { isLargeText, parsedText } from './parsed-texts.ts';
import { countSteps, countText } from './step-limit.ts';
import { Binary, newObject, RawJson, type Value, type ValueObject } from './value.ts';

/** The limit of nested arrays and objects. */
const depthMax = 2000;

// A text may begin with U+FEFF, which is no byte order mark here.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const { latin1Slice } = Buffer.prototype as unknown as {
  latin1Slice(this: Uint8Array, start: number, end: number): string;
};

export class JsonError extends Error {
  override name = 'JsonError';
}

export class JsonDepthError extends JsonError {}

/** Parses the whole of `bytes[start, end)`; throws JsonError if it is not a JSON value. */
export function parseJson(bytes: Uint8Array, start = 0, end = bytes.length): Value {
  return new JsonParser(bytes, start, end).whole();
}

export function parseJsonText(text: string): Value {
  return parseJson(new TextEncoder().encode(text));
}

/** Parses JSON text, so that the value can be compared and computed with; returns other values unchanged. */
export function resolve(value: Value): Value {
  if (!(value instanceof RawJson)) return value;
  const parsed = isLargeText(value) ? parsedText(value) : undefined;
  if (parsed !== undefined) return parsed;
  countText(value.end - value.start);
  return parseJson(value.bytes, value.start, value.end);
}

/**
 * Parses large text while its row is evaluated: only then can the operator parse the text in steps and evaluate the row again
 * (`ParseNeeded`). Returns other values unchanged.
 */
export const parsedIfLarge = (value: Value): Value =>
  value instanceof RawJson && isLargeText(value) ? resolve(value) : value;

/** Like `resolve`, including nested values. Values without JSON text are returned unchanged. */
export function resolveDeep(value: Value): Value {
  if (typeof value !== 'object' || value === null || value instanceof Binary) return value;
  if (value instanceof RawJson) return resolve(value);
  if (Array.isArray(value)) return resolveItems(value as readonly Value[]);
  return resolveMembers(value as ValueObject);
}

function resolveItems(items: readonly Value[]): Value {
  countSteps(items.length);
  let copy: Value[] | undefined;
  for (let at = 0; at < items.length; at++) {
    const item = items[at];
    const resolved = resolveDeep(item);
    if (resolved === item) continue;
    copy ??= [...items];
    copy[at] = resolved;
  }
  return copy ?? items;
}

function resolveMembers(object: ValueObject): Value {
  let copy: Record<string, Value> | undefined;
  let members = 0;
  for (const name in object) {
    members++;
    const member = object[name];
    const resolved = resolveDeep(member);
    if (resolved === member) continue;
    copy ??= Object.assign(newObject(), object);
    copy[name] = resolved;
  }
  countSteps(members);
  return copy ?? object;
}

/** Parses the JSON string whose quotes are at `start` and `end - 1`. */
export function parseString(bytes: Uint8Array, start: number, end: number): string {
  let isPlain = true;
  for (let at = start + 1; at < end - 1; at++) {
    const byte = bytes[at] as number;
    if (byte === 0x5c) return unescaped(bytes, start, end);
    if (byte >= 0x80) isPlain = false;
  }
  if (isPlain) return asciiString(bytes, start + 1, end - 1);
  return decoder.decode(bytes.subarray(start + 1, end - 1));
}

/** Below this length a call of `latin1Slice` takes longer than a loop. */
const shortBytes = 24;
/** Room for the characters of a short string, by its length. */
const shortCodes = Array.from({ length: shortBytes }, (_, length) => new Array<number>(length).fill(0));

/** The string of `bytes[start, end)`, which are ASCII. */
export function asciiString(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start;
  if (length >= shortBytes) return latin1Slice.call(bytes, start, end);
  const codes = shortCodes[length] as number[];
  for (let at = 0; at < length; at++) codes[at] = bytes[start + at] as number;
  return String.fromCharCode.apply(null, codes);
}

function unescaped(bytes: Uint8Array, start: number, end: number): string {
  try {
    const text = JSON.parse(decoder.decode(bytes.subarray(start, end))) as string;
    return text.isWellFormed() ? text : text.toWellFormed();
  } catch {
    throw new JsonError(`Invalid string at byte ${start}`);
  }
}

export function parseNumber(bytes: Uint8Array, start: number, end: number): number | bigint {
  const first = bytes[start] === 0x2d ? start + 1 : start;
  // Fifteen digits are exact in a double.
  if (end - first > 15) return numberOf(bytes, start, end);
  let number = 0;
  for (let at = first; at < end; at++) {
    const digit = (bytes[at] as number) - 48;
    if (digit < 0 || digit > 9) return numberOf(bytes, start, end);
    number = number * 10 + digit;
  }
  return first === start ? number : number === 0 ? 0 : -number;
}

function numberOf(bytes: Uint8Array, start: number, end: number): number | bigint {
  const number = numberLiteral(latin1Slice.call(bytes, start, end));
  return Object.is(number, -0) ? 0 : number;
}

/** Parses at a position in a text. */
export class JsonParser {
  protected readonly bytes: Uint8Array;
  protected readonly end: number;
  protected at: number;
  protected depth = 0;
  /** Which of duplicate members counts. */
  protected duplicates: 'first' | 'last' = 'first';

  constructor(bytes: Uint8Array, start: number, end: number) {
    this.bytes = bytes;
    this.at = start;
    this.end = end;
  }

  whole(): Value {
    this.space();
    const value = this.value();
    this.checkEnd();
    return value;
  }

  protected checkEnd(): void {
    this.space();
    if (this.at < this.end) throw this.invalid();
  }

  private invalid(): JsonError {
    return new JsonError(this.at >= this.end ? 'Unexpected end of JSON' : `Invalid JSON at byte ${this.at}`);
  }

  protected space(): void {
    const { bytes, end } = this;
    while (this.at < end) {
      const byte = bytes[this.at] as number;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return;
      this.at++;
    }
  }

  protected value(): Value {
    if (this.at >= this.end) throw this.invalid();
    switch (this.bytes[this.at]) {
      case 0x7b:
        return this.object();
      case 0x5b:
        return this.array();
      case 0x22:
        return this.string();
      case 0x74:
        return this.word('true', true);
      case 0x66:
        return this.word('false', false);
      case 0x6e:
        return this.word('null', null);
      default:
        return this.number();
    }
  }

  private word(word: string, value: boolean | null): boolean | null {
    for (let at = 0; at < word.length; at++) {
      if (this.bytes[this.at + at] !== word.charCodeAt(at) || this.at + at >= this.end) throw this.invalid();
    }
    this.at += word.length;
    return value;
  }

  protected object(): Value {
    const object = newObject();
    this.enter();
    this.at++;
    this.space();
    if (this.bytes[this.at] === 0x7d && this.at < this.end) this.at++;
    else {
      do {
        const name = this.memberName();
        const value = this.value();
        if (object[name] === undefined || this.duplicates === 'last') object[name] = value;
        this.space();
      } while (this.comma(0x7d));
    }
    this.depth--;
    return object;
  }

  /** Reads the name and the colon of a member. */
  protected memberName(): string {
    this.space();
    if (this.bytes[this.at] !== 0x22 || this.at >= this.end) throw this.invalid();
    const name = this.string();
    this.space();
    this.expect(0x3a);
    this.space();
    return name;
  }

  protected array(): Value {
    const items: Value[] = [];
    this.enter();
    this.at++;
    this.space();
    if (this.bytes[this.at] === 0x5d && this.at < this.end) this.at++;
    else {
      do {
        this.space();
        items.push(this.value());
        this.space();
      } while (this.comma(0x5d));
    }
    this.depth--;
    return items;
  }

  protected enter(): void {
    if (++this.depth > depthMax) throw new JsonDepthError(`JSON is at most ${depthMax} levels deep`);
  }

  protected expect(byte: number): void {
    if (this.at >= this.end || this.bytes[this.at] !== byte) throw this.invalid();
    this.at++;
  }

  /** Returns true after a comma, where another member or item follows, and false after the closing bracket. */
  protected comma(close: number): boolean {
    if (this.at < this.end && this.bytes[this.at] === 0x2c) {
      this.at++;
      return true;
    }
    this.expect(close);
    return false;
  }

  protected string(): string {
    const { bytes, end } = this;
    const start = this.at;
    for (let at = start + 1; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte === 0x22) {
        this.at = at + 1;
        return parseString(bytes, start, at + 1);
      }
      if (byte === 0x5c) at++;
      else if (byte < 0x20) throw this.invalid();
    }
    this.at = end;
    throw this.invalid();
  }

  private number(): number | bigint {
    const { bytes, end } = this;
    const start = this.at;
    let at = start;
    while (at < end && isNumberByte(bytes[at] as number)) at++;
    if (!isNumber(bytes, start, at)) throw this.invalid();
    this.at = at;
    return parseNumber(bytes, start, at);
  }
}

function isNumberByte(byte: number): boolean {
  return (
    (byte >= 48 && byte <= 57) ||
    byte === 0x2d ||
    byte === 0x2b ||
    byte === 0x2e ||
    byte === 0x65 ||
    byte === 0x45
  );
}

/** A minus sign or none, digits without a leading zero, a fraction or none, an exponent or none. */
function isNumber(bytes: Uint8Array, start: number, end: number): boolean {
  const digits = bytes[start] === 0x2d ? start + 1 : start;
  let at = digitsEnd(bytes, digits, end);
  if (at === digits || (bytes[digits] === 48 && at > digits + 1)) return false;
  if (at < end && bytes[at] === 0x2e) {
    const fraction = at + 1;
    at = digitsEnd(bytes, fraction, end);
    if (at === fraction) return false;
  }
  if (at < end && (bytes[at] === 0x65 || bytes[at] === 0x45)) {
    const sign = bytes[at + 1] === 0x2b || bytes[at + 1] === 0x2d ? at + 2 : at + 1;
    at = digitsEnd(bytes, sign, end);
    if (at === sign) return false;
  }
  return at === end;
}

function digitsEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && (bytes[at] as number) >= 48 && (bytes[at] as number) <= 57) at++;
  return at;
}
