// Large JSON text is parsed in steps, between which other requests have the thread. Expressions are synchronous: one that needs the value of such
// text throws `ParseNeeded`. The operator parses the text and evaluates the row again, which then finds the value here.
import type { RawJson, Value } from './value.ts';

/** Text that takes more than about a millisecond to parse. */
const largeTextBytes = 64 << 10;

export const isLargeText = ({ start, end }: RawJson): boolean => end - start >= largeTextBytes;

/** Thrown where a large text has not been parsed, if the caller of the expression can wait. */
export class ParseNeeded {
  readonly raw: RawJson;

  constructor(raw: RawJson) {
    this.raw = raw;
  }
}

interface ParsedText {
  readonly raw: RawJson;
  readonly value: Value;
  /** The row that is evaluated has read the value. */
  isUsed: boolean;
}

/** The values of large texts that a row needs. No caller may change them. */
export class ParsedTexts {
  private list: ParsedText[];

  /** Begins with those of `from`, which count as unused. */
  constructor(from?: ParsedTexts) {
    this.list = from === undefined ? [] : from.list.map((text) => ({ ...text, isUsed: false }));
  }

  add(raw: RawJson, value: Value): void {
    this.list.push({ raw, value, isUsed: true });
  }

  /** Compares places in memory: each evaluation of a row makes a new `RawJson` for the same text. */
  find({ bytes, start, end }: RawJson): Value {
    const found = this.list.find(({ raw }) => raw.bytes === bytes && raw.start === start && raw.end === end);
    if (found === undefined) return undefined;
    found.isUsed = true;
    return found.value;
  }

  /** Ends a row. What it used stays for the next one: rows of an UNNEST have the same document. */
  endRow(): void {
    if (this.list.length === 0) return;
    this.list = this.list.filter(({ isUsed }) => isUsed);
    for (const text of this.list) text.isUsed = false;
  }
}

/** The texts of the row that is evaluated; null: the caller cannot wait. */
let ofRow: ParsedTexts | null = null;

/** Call before a row is evaluated; returns the texts to set again after it. */
export function setParsedTexts(texts: ParsedTexts | null): ParsedTexts | null {
  const before = ofRow;
  ofRow = texts;
  return before;
}

/** The value of a large text; undefined if the caller has to parse it. @throws ParseNeeded */
export function parsedText(raw: RawJson): Value {
  if (ofRow === null) return undefined;
  const value = ofRow.find(raw);
  if (value === undefined) throw new ParseNeeded(raw);
  return value;
}
