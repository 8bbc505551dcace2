// Encodes rows for scratch files. Every kind of value is restored, including unparsed documents. Rows in a file, and those
// still to be written to it, are bytes outside of the heap: as objects they would survive V8's minor garbage collections, and stay until a major one.
import { Binary, newObject, RawJson, type Value, type ValueObject } from '../values/value.ts';

const tags = {
  missing: 0,
  null: 1,
  false: 2,
  true: 3,
  number: 4,
  integer: 5,
  string: 6,
  array: 7,
  object: 8,
  raw: 9,
  binary: 10,
  /** A string with lone surrogates, which UTF-8 cannot have. */
  units: 11,
} as const;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Collects encoded rows. */
export class SpillWriter {
  #bytes = new Uint8Array(4096);
  #view = new DataView(this.#bytes.buffer);
  #at = 0;

  /** The bytes of the rows so far. */
  get size(): number {
    return this.#at;
  }

  add(row: readonly Value[]): void {
    this.#array(row);
  }

  /** Returns the bytes of the rows so far and starts again. */
  drain(): Uint8Array {
    const bytes = this.#bytes.slice(0, this.#at);
    this.#at = 0;
    return bytes;
  }

  #room(size: number): void {
    if (this.#at + size <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#at + size));
    larger.set(this.#bytes);
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }

  #tag(tag: number): void {
    this.#room(1);
    this.#bytes[this.#at++] = tag;
  }

  #length(value: number): void {
    this.#room(4);
    this.#view.setUint32(this.#at, value);
    this.#at += 4;
  }

  #blob(bytes: Uint8Array): void {
    this.#length(bytes.length);
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  #text(text: string): void {
    this.#room(4 + text.length * 3);
    const { written } = encoder.encodeInto(text, this.#bytes.subarray(this.#at + 4));
    this.#view.setUint32(this.#at, written);
    this.#at += 4 + written;
  }

  #value(value: Value): void {
    switch (typeof value) {
      case 'undefined':
        this.#tag(tags.missing);
        return;
      case 'boolean':
        this.#tag(value ? tags.true : tags.false);
        return;
      case 'number':
        this.#tag(tags.number);
        this.#room(8);
        this.#view.setFloat64(this.#at, value);
        this.#at += 8;
        return;
      case 'bigint':
        this.#tag(tags.integer);
        this.#room(8);
        this.#view.setBigInt64(this.#at, value);
        this.#at += 8;
        return;
      case 'string':
        this.#string(value);
        return;
      default:
        if (value === null) this.#tag(tags.null);
        else this.#object(value);
    }
  }

  #string(text: string): void {
    if (text.isWellFormed()) {
      this.#tag(tags.string);
      this.#text(text);
      return;
    }
    this.#tag(tags.units);
    this.#blob(Buffer.from(text, 'utf16le'));
  }

  #array(items: readonly Value[]): void {
    this.#tag(tags.array);
    this.#length(items.length);
    for (let at = 0; at < items.length; at++) this.#value(items[at]);
  }

  #object(value: object): void {
    if (Array.isArray(value)) {
      this.#array(value as Value[]);
    } else if (value instanceof RawJson) {
      this.#tag(tags.raw);
      this.#blob(value.bytes.subarray(value.start, value.end));
    } else if (value instanceof Binary) {
      this.#tag(tags.binary);
      this.#blob(value.bytes);
    } else {
      const members = value as ValueObject;
      const names = Object.keys(members);
      this.#tag(tags.object);
      this.#length(names.length);
      for (const name of names) {
        this.#string(name);
        this.#value(members[name]);
      }
    }
  }
}

/** Decodes the rows of a SpillWriter one by one. */
export class SpillReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** The next row; undefined at the end. */
  next(): Value[] | undefined {
    return this.#at < this.#bytes.length ? (this.#value() as Value[]) : undefined;
  }

  #length(): number {
    this.#at += 4;
    return this.#view.getUint32(this.#at - 4);
  }

  #blob(): Uint8Array {
    const length = this.#length();
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  #value(): Value {
    switch (this.#bytes[this.#at++]) {
      case tags.null:
        return null;
      case tags.false:
        return false;
      case tags.true:
        return true;
      case tags.number:
        this.#at += 8;
        return this.#view.getFloat64(this.#at - 8);
      case tags.integer:
        this.#at += 8;
        return this.#view.getBigInt64(this.#at - 8);
      case tags.string:
        return decoder.decode(this.#blob());
      case tags.units:
        return Buffer.from(this.#blob()).toString('utf16le');
      case tags.array:
        return this.#array();
      case tags.object:
        return this.#object();
      case tags.raw: {
        const bytes = this.#blob();
        return new RawJson(bytes, 0, bytes.length);
      }
      case tags.binary:
        return new Binary(this.#blob());
      default:
        return undefined;
    }
  }

  #array(): Value {
    const length = this.#length();
    const items: Value[] = [];
    for (let at = 0; at < length; at++) items.push(this.#value());
    return items;
  }

  #object(): Value {
    const length = this.#length();
    const members = newObject();
    for (let at = 0; at < length; at++) {
      const name = this.#value() as string;
      members[name] = this.#value();
    }
    return members;
  }
}

/** All rows that a SpillWriter has written. */
export function rowsIn(bytes: Uint8Array): Value[][] {
  const reader = new SpillReader(bytes);
  const rows: Value[][] = [];
  for (let row = reader.next(); row; row = reader.next()) rows.push(row);
  return rows;
}
