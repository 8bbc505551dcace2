// Rows of CSV (RFC 4180): a quoted cell may contain separators, line ends and doubled quotes. Lines end with a line feed, a carriage return, or
// both. Empty lines are skipped.
import { isUtf8 } from 'node:buffer';
import {
  byteOrderMark,
  recordBytesMax,
  type SourceParser,
  type SourceRecord,
  type StartPosition,
  tooLong,
} from './source-record.ts';

const lineFeed = 10;
const carriageReturn = 13;
const quote = 34;

export class CsvParser implements SourceParser {
  private readonly separator: number;
  private offset: number;
  private line: number;
  private firstLine: number;
  private cells: string[] = [];
  private cell = Buffer.allocUnsafe(1_024);
  private cellBytes = 0;
  private bytes = 0;
  private state: 'start' | 'plain' | 'quoted' | 'closed' = 'start';
  private problem: string | null = null;
  /** The first bytes of the file, as long as they may begin a byte order mark; null afterwards. */
  private head: Buffer | null;
  /** The last byte was a carriage return: the row ends with it, or with the line feed that follows. */
  private isReturned = false;

  constructor({ offset, line }: StartPosition, separator: string) {
    this.offset = offset;
    this.line = line;
    this.firstLine = line;
    this.head = offset === 0 ? Buffer.alloc(0) : null;
    this.separator = separator.charCodeAt(0);
  }

  *push(chunk: Buffer): Iterable<SourceRecord> {
    for (const byte of this.withoutMark(chunk)) {
      if (this.isReturned && byte !== lineFeed) {
        this.line++;
        yield* this.row();
      }
      this.isReturned = false;
      this.offset++;
      if (byte === lineFeed) this.line++;
      // A row that is too long may have a quote that is never closed: it ends with its line.
      const mayEnd = this.state !== 'quoted' || this.problem === tooLong;
      if (mayEnd && byte === lineFeed) yield* this.row();
      else if (mayEnd && byte === carriageReturn) this.isReturned = true;
      else this.parseByte(byte);
    }
  }

  *end(): Iterable<SourceRecord> {
    const { head } = this;
    this.head = null;
    if (head !== null) yield* this.push(head);
    if (this.state === 'quoted') this.problem ??= 'a quote is never closed';
    yield* this.row();
  }

  /** Drops a byte order mark, which chunks may split; characters of other scripts share some of its bytes. */
  private withoutMark(chunk: Buffer): Buffer {
    if (this.head === null) return chunk;
    const bytes = Buffer.concat([this.head, chunk]);
    const isShort = bytes.length < byteOrderMark.length;
    this.head = isShort ? bytes : null;
    if (isShort) return Buffer.alloc(0);
    if (!bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark)) return bytes;
    this.offset += byteOrderMark.length;
    return bytes.subarray(byteOrderMark.length);
  }

  private parseByte(byte: number): void {
    if (++this.bytes > recordBytesMax) {
      this.problem = tooLong;
      this.cells = [];
      this.cellBytes = 0;
      return;
    }
    if (this.state === 'quoted') {
      if (byte === quote) this.state = 'closed';
      else this.append(byte);
    } else if (byte === this.separator) this.endCell();
    else if (byte === quote && this.state === 'start') this.state = 'quoted';
    else if (byte === quote && this.state === 'closed') {
      this.state = 'quoted';
      this.append(byte);
    } else this.parsePlain(byte);
  }

  private parsePlain(byte: number): void {
    if (this.state === 'closed') this.problem ??= 'there is text after a closing quote';
    else this.state = 'plain';
    this.append(byte);
  }

  private append(byte: number): void {
    if (this.cellBytes === this.cell.length) this.cell = Buffer.concat([this.cell], this.cell.length * 2);
    this.cell[this.cellBytes++] = byte;
  }

  private endCell(): void {
    const bytes = this.cell.subarray(0, this.cellBytes);
    if (!isUtf8(bytes)) this.problem ??= 'is not UTF-8';
    this.cells.push(bytes.toString());
    this.cellBytes = 0;
    this.state = 'start';
  }

  private *row(): Iterable<SourceRecord> {
    const isEmpty = this.cells.length === 0 && this.cellBytes === 0 && this.state === 'start';
    if (this.problem !== tooLong) this.endCell();
    const place = { line: this.firstLine, end: this.offset, endLine: this.line };
    const { cells: content, problem } = this;
    this.firstLine = this.line;
    this.cells = [];
    this.cellBytes = 0;
    this.bytes = 0;
    this.state = 'start';
    this.problem = null;
    if (problem !== null) yield { ...place, content: null, problem };
    else if (!isEmpty) yield { ...place, content };
  }
}
