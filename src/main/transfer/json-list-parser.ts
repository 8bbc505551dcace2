// A JSON list, element by element, without reading all of it: `[{…}, {…}]`. It does not check that elements are JSON: the import does.
import { isJsonSpace, trimmed } from './json-lines-parser.ts';
import {
  byteOrderMark,
  RecordBytes,
  type SourceParser,
  type SourceRecord,
  type StartPosition,
  tooLong,
} from './source-record.ts';

const [lineFeed, quote, comma, open, backslash, close] = [...Buffer.from('\n",[\\]')] as [
  number,
  number,
  number,
  number,
  number,
  number,
];
const opening = new Set(Buffer.from('[{'));
const closing = new Set(Buffer.from(']}'));

export class JsonListParser implements SourceParser {
  private readonly pending = new RecordBytes();
  private state: 'before' | 'within' | 'after' | 'broken';
  private offset: number;
  private line: number;
  /** The line where the current element began; 0 before it begins. */
  private firstLine = 0;
  private depth = 0;
  private isText = false;
  private isEscaped = false;

  /** A start position above 0 is one where an import continues: after an element of the list. */
  constructor({ offset, line }: StartPosition) {
    this.offset = offset;
    this.line = line;
    this.state = offset === 0 ? 'before' : 'within';
  }

  *push(chunk: Buffer): Iterable<SourceRecord> {
    const base = this.offset;
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (byte === lineFeed) this.line++;
      const isOutside = !this.isText && this.depth === 0;
      if (this.state !== 'within') {
        yield* this.parseOutside(byte, base + at);
        start = at + 1;
      } else if (isOutside && (byte === comma || byte === close)) {
        this.pending.add(chunk.subarray(start, at));
        start = at + 1;
        yield* this.element(base + at + (byte === comma ? 1 : 0));
        if (byte === close) this.state = 'after';
      } else this.follow(byte);
    }
    if (this.state === 'within') this.pending.add(chunk.subarray(start));
    this.offset = base + chunk.length;
  }

  *end(): Iterable<SourceRecord> {
    if (this.state === 'after' || this.state === 'broken') return;
    const problem = this.state === 'before' ? 'the file has no JSON list' : 'the list has no end';
    yield { line: this.firstLine || this.line, end: this.offset, endLine: this.line, content: null, problem };
  }

  private follow(byte: number): void {
    if (this.firstLine === 0 && !isJsonSpace(byte)) this.firstLine = this.line;
    if (this.isText) {
      if (this.isEscaped) this.isEscaped = false;
      else if (byte === backslash) this.isEscaped = true;
      else if (byte === quote) this.isText = false;
    } else if (byte === quote) this.isText = true;
    else if (opening.has(byte)) this.depth++;
    // An extra closing bracket makes this element invalid; the next element is still read.
    else if (closing.has(byte)) this.depth = Math.max(0, this.depth - 1);
  }

  private *parseOutside(byte: number, at: number): Iterable<SourceRecord> {
    const isMark = at < byteOrderMark.length && byte === byteOrderMark[at];
    if (this.state === 'broken' || isJsonSpace(byte) || (this.state === 'before' && isMark)) return;
    if (this.state === 'before' && byte === open) {
      this.state = 'within';
      return;
    }
    const problem = this.state === 'before' ? 'the file should begin with [' : 'there is text after the list';
    this.state = 'broken';
    yield { line: this.line, end: at, endLine: this.line, content: null, problem };
  }

  private *element(end: number): Iterable<SourceRecord> {
    const place = { line: this.firstLine || this.line, end, endLine: this.line };
    this.firstLine = 0;
    const bytes = this.pending.drain();
    if (bytes === null) yield { ...place, content: null, problem: tooLong };
    else {
      const content = trimmed(bytes);
      if (content.length > 0) yield { ...place, content };
    }
  }
}
