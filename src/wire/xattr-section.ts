// Reads the xattr section in front of a value's body (datatype bit 4). Layout, integers big-endian:
//   u32 size of all pairs; each pair: u32 size of the rest of the pair, key, 0x00, JSON value, 0x00; then the body.
// A Buffer that contains a section begins with its u32; an empty Buffer represents no xattrs.
import { assert } from '#base/assert.ts';
import { readU32 } from './bytes.ts';

const noSection = Buffer.alloc(0);

/** Start of the body in a value that begins with an xattr section, or -1 if the section exceeds the value. */
export function bodyStart(bytes: Uint8Array, start: number, end: number): number {
  if (end - start < 4) return -1;
  const body = start + 4 + readU32(bytes, start);
  return body > end ? -1 : body;
}

/** Iterates over the pairs of a validated section; the fields are the ranges of the current pair. */
export class XattrWalk {
  pairStart = 0;
  keyStart = 0;
  keyEnd = 0;
  valueStart = 0;
  valueEnd = 0;
  private bytes: Uint8Array = noSection;
  private at = 0;
  private end = 0;

  /** Starts at the section at `start`; if `start` equals `end` the value has no section. */
  begin(bytes: Uint8Array, start: number, end: number): void {
    this.bytes = bytes;
    this.at = start + 4;
    this.end = start === end ? 0 : bodyStart(bytes, start, end);
    assert(this.end >= 0, 'an xattr section extends beyond the end of its value');
  }

  next(): boolean {
    if (this.at >= this.end) return false;
    this.pairStart = this.at;
    this.keyStart = this.at + 4;
    this.at = this.keyStart + readU32(this.bytes, this.pairStart);
    this.valueEnd = this.at - 1;
    this.keyEnd = this.bytes.indexOf(0, this.keyStart);
    this.valueStart = this.keyEnd + 1;
    assert(this.at <= this.end && this.valueStart <= this.valueEnd, 'a stored xattr pair is broken');
    return true;
  }

  /** True for keys with a leading `_`, system xattrs: they survive deletion and require separate privileges. */
  get isSystem(): boolean {
    return this.bytes[this.keyStart] === 0x5f;
  }

  isKey(key: Uint8Array): boolean {
    if (this.keyEnd - this.keyStart !== key.length) return false;
    for (let i = 0; i < key.length; i++) if (this.bytes[this.keyStart + i] !== key[i]) return false;
    return true;
  }

  /** End of the current pair. */
  get pairEnd(): number {
    return this.at;
  }
}

/** Shared by all calls: each finishes synchronously. */
const walk = new XattrWalk();

/** The JSON value of a key (a view, not a copy), or null. */
export function getXattr(section: Buffer, key: Uint8Array): Buffer | null {
  walk.begin(section, 0, section.length);
  while (walk.next()) if (walk.isKey(key)) return section.subarray(walk.valueStart, walk.valueEnd);
  return null;
}
