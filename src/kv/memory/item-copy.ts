// A copy of an item that another thread may change at any time. The caller checks with the sequence lock whether all of the copy belongs
// to one version of the item.
import type { MemoryDocument } from '#wire/document-batch.ts';
import { Datatype } from '#wire/status.ts';
import { Bit, datatypeIn, headerBytes, keyBytesMax, Word } from './layout.ts';

/** All state bits of a state word: `Bit.deleted` is the lowest one. */
const stateBits = ~(Bit.deleted - 1);
/** A document with other bits is read by the data thread. */
const readableBits = Bit.dirty | Bit.used;
/** The data thread reads larger values. */
const valueBytesMax = 250 << 10;

export interface ItemPage {
  /** Empty if this thread cannot read the page. */
  readonly words: Uint32Array;
  readonly bytes: Buffer;
}

export interface ReaderClock {
  readonly wallMs: () => number;
  /** Monotonic milliseconds with the same start in all threads. */
  readonly processMs: () => number;
}

export class ItemCopy implements MemoryDocument {
  readonly bytes = Buffer.allocUnsafeSlow(headerBytes + keyBytesMax + valueBytesMax);
  start = 0;
  end = 0;
  private readonly words = new Uint32Array(this.bytes.buffer, 0, headerBytes / 4);

  /**
   * Copies the item that begins `unit` times 16 bytes after the start of the page. False if the value is too large, or if the page ends before
   * the item does: the length of an item that another thread is changing may be any number.
   */
  copy({ bytes, words }: ItemPage, unit: number, keyBytes: number): boolean {
    const valueBytes = words[(unit << 2) + Word.valueBytes] as number;
    if (valueBytes > valueBytesMax) return false;
    const from = unit << 4;
    this.start = headerBytes + keyBytes;
    this.end = this.start + valueBytes;
    return bytes.copy(this.bytes, 0, from, from + this.end) === this.end;
  }

  /**
   * Whether a read of the document is no more than a look-up, so that this thread may answer it. The data thread answers reads of documents that
   * expire within a second, because its clock decides when they expire.
   */
  isReadable(clock: ReaderClock): boolean {
    const state = this.words[Word.state] as number;
    if ((state & stateBits & ~readableBits) !== 0) return false;
    if ((this.datatype & Datatype.xattr) !== 0) return false;
    const { expiry } = this;
    return expiry === 0 || expiry * 1_000 > clock.wallMs() + 1_000;
  }

  /** Whether the data thread has marked the item as used. */
  get isMarked(): boolean {
    return ((this.words[Word.state] as number) & Bit.used) !== 0;
  }

  get datatype(): number {
    return datatypeIn(this.words[Word.state] as number);
  }

  get flags(): number {
    return this.words[Word.flags] as number;
  }

  get expiry(): number {
    return this.words[Word.expiry] as number;
  }

  get casHi(): number {
    return this.words[Word.casHi] as number;
  }

  get casLo(): number {
    return this.words[Word.casLo] as number;
  }
}
