// JSON lines: one value on each line; empty lines are skipped.
import {
  byteOrderMark,
  RecordBytes,
  type SourceParser,
  type SourceRecord,
  type StartPosition,
  tooLong,
} from './source-record.ts';

const lineFeed = 10;

export class JsonLinesParser implements SourceParser {
  private readonly pending = new RecordBytes();
  private offset: number;
  private line: number;

  constructor({ offset, line }: StartPosition) {
    this.offset = offset;
    this.line = line;
  }

  *push(chunk: Buffer): Iterable<SourceRecord> {
    let start = 0;
    for (let at = chunk.indexOf(lineFeed); at >= 0; at = chunk.indexOf(lineFeed, start)) {
      this.pending.add(chunk.subarray(start, at));
      this.offset += at + 1 - start;
      start = at + 1;
      yield* this.record(this.line++);
    }
    this.pending.add(chunk.subarray(start));
    this.offset += chunk.length - start;
  }

  *end(): Iterable<SourceRecord> {
    yield* this.record(this.line);
  }

  private *record(line: number): Iterable<SourceRecord> {
    const place = { line, end: this.offset, endLine: this.line };
    const bytes = this.pending.drain();
    if (bytes === null) yield { ...place, content: null, problem: tooLong };
    else {
      const isMarked = line === 1 && bytes.subarray(0, 3).equals(byteOrderMark);
      const content = trimmed(isMarked ? bytes.subarray(3) : bytes);
      if (content.length > 0) yield { ...place, content };
    }
  }
}

/** Without white space at both ends. */
export function trimmed(bytes: Buffer): Buffer {
  let start = 0;
  let end = bytes.length;
  while (start < end && isJsonSpace(bytes[start] as number)) start++;
  while (end > start && isJsonSpace(bytes[end - 1] as number)) end--;
  return bytes.subarray(start, end);
}

export const isJsonSpace = (byte: number): boolean => byte === 32 || byte === 10 || byte === 13 || byte === 9;
