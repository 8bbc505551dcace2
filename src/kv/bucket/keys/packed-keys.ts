// Many keys in few large buffers, where each has a place. The garbage collector would take tens of milliseconds for hundreds of
// thousands of strings or buffers.

import type { WorkSteps } from '#base/steps.ts';
import { hashKey } from '../../memory/hash.ts';

const chunkBytesMin = 1024;
const chunkBytesMax = 64 * 1024;
const lengthBytes = 2;
/** Longer keys are compared by native code, whose call takes as long as the comparison of that many bytes here. */
const comparedHereMax = 32;
/** Keys that one step copies. */
const keysPerStep = 1_024;

/** A place is the number of a chunk, and the offset in it in the lower 16 bits. */
export class PackedKeys {
  private readonly chunks: Buffer[] = [];
  private chunk: Buffer = Buffer.alloc(0);
  private end = 0;
  /** Memory of the keys. */
  bytes = 0;

  /** Adds the bytes from `start` to `end`, at most 1 KiB; returns their place. */
  add(source: Buffer, start: number, end: number): number {
    const length = end - start;
    if (this.end + lengthBytes + length > this.chunk.length) this.grow();
    const { chunk, end: at } = this;
    chunk[at] = length >>> 8;
    chunk[at + 1] = length & 0xff;
    for (let i = 0; i < length; i++) chunk[at + lengthBytes + i] = source[start + i] as number;
    this.end = at + lengthBytes + length;
    return (this.chunks.length - 1) * 2 ** 16 + at;
  }

  /** The key at a place; not a copy. */
  at(place: number): Buffer {
    const chunk = this.chunks[place >>> 16] as Buffer;
    const start = place & 0xffff;
    return chunk.subarray(start + lengthBytes, start + lengthBytes + lengthIn(chunk, start));
  }

  hash(place: number, seed: number): number {
    const chunk = this.chunks[place >>> 16] as Buffer;
    const start = place & 0xffff;
    return hashKey(chunk, start + lengthBytes, start + lengthBytes + lengthIn(chunk, start), seed);
  }

  /** Orders keys by their bytes. */
  readonly compare = (left: number, right: number): number => {
    const [a, b] = [this.chunks[left >>> 16] as Buffer, this.chunks[right >>> 16] as Buffer];
    const [aStart, bStart] = [(left & 0xffff) + lengthBytes, (right & 0xffff) + lengthBytes];
    const aLength = lengthIn(a, aStart - lengthBytes);
    const bLength = lengthIn(b, bStart - lengthBytes);
    const common = Math.min(aLength, bLength);
    if (common > comparedHereMax) return a.compare(b, bStart, bStart + bLength, aStart, aStart + aLength);
    for (let i = 0; i < common; i++) {
      const difference = (a[aStart + i] as number) - (b[bStart + i] as number);
      if (difference !== 0) return difference;
    }
    return aLength - bLength;
  };

  private grow(): void {
    const size = Math.min(Math.max(2 * this.chunk.length, chunkBytesMin), chunkBytesMax);
    this.chunk = Buffer.allocUnsafeSlow(size);
    this.chunks.push(this.chunk);
    this.end = 0;
    this.bytes += size;
  }
}

const lengthIn = (chunk: Buffer, at: number): number =>
  ((chunk[at] as number) << 8) | (chunk[at + 1] as number);

/** Keys in an order. */
export class ListedKeys implements Iterable<Buffer> {
  readonly packed: PackedKeys;
  readonly places: Uint32Array;

  constructor(packed: PackedKeys, places: Uint32Array) {
    this.packed = packed;
    this.places = places;
  }

  get length(): number {
    return this.places.length;
  }

  /** Memory of the list. */
  get bytes(): number {
    return this.packed.bytes + this.places.buffer.byteLength;
  }

  at(index: number): Buffer {
    return this.packed.at(this.places[index] as number);
  }

  *[Symbol.iterator](): Generator<Buffer> {
    for (const place of this.places) yield this.packed.at(place);
  }
}

/** Copies the keys at these places, so that the memory of the others can be freed. */
export function* copiedInSteps(packed: PackedKeys, places: Uint32Array): WorkSteps<ListedKeys> {
  const copies = new PackedKeys();
  const copied = new Uint32Array(places.length);
  for (let i = 0; i < places.length; i++) {
    const key = packed.at(places[i] as number);
    copied[i] = copies.add(key, 0, key.length);
    if (i % keysPerStep === keysPerStep - 1) yield;
  }
  return new ListedKeys(copies, copied);
}
