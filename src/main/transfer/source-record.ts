// One record of a file that is imported: the text of a JSON value, the cells of a row of CSV, or what is wrong with it.

export interface SourceRecord {
  /** The line where the record begins, counted from 1. */
  readonly line: number;
  /** The offset after the record, from which a later import can continue. */
  readonly end: number;
  /** The line of `end`. */
  readonly endLine: number;
  readonly content: Buffer | readonly string[] | null;
  readonly problem?: string;
}

/** Where a parser begins: at the start of the file, or after a record. */
export interface StartPosition {
  readonly offset: number;
  readonly line: number;
}

export interface SourceParser {
  /** Records that end in this chunk. */
  push(chunk: Buffer): Iterable<SourceRecord>;
  /** The last record, if the file ends without a line end or a bracket after it. */
  end(): Iterable<SourceRecord>;
}

export const fileStart: StartPosition = { offset: 0, line: 1 };

/** A document of 20 MiB, with room for white space. */
export const recordBytesMax = 21 << 20;
export const tooLong = `is longer than ${recordBytesMax >> 20} MiB`;

export const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/** The bytes of a record that may span chunks; bounded. */
export class RecordBytes {
  isTooLong = false;
  private parts: Buffer[] = [];
  private bytes = 0;

  add(part: Buffer): void {
    if (part.length === 0 || this.isTooLong) return;
    this.bytes += part.length;
    if (this.bytes <= recordBytesMax) this.parts.push(Buffer.from(part));
    else {
      this.isTooLong = true;
      this.parts = [];
    }
  }

  /** Returns all bytes and starts again; null if they were too many. */
  drain(): Buffer | null {
    const whole = this.isTooLong ? null : Buffer.concat(this.parts);
    this.parts = [];
    this.bytes = 0;
    this.isTooLong = false;
    return whole;
  }
}
