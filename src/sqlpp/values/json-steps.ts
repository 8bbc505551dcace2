// Parses large JSON text in steps.
import type { WorkSteps } from '#base/steps.ts';
import { JsonParser } from './json-parse.ts';
import { openContainers } from './json-scan.ts';
import { newObject, type RawJson, type Value } from './value.ts';

/** A step parses about this many bytes, in about half a millisecond. */
const stepBytes = 64 << 10;

const openingBracket = 0x5b;
const closingBracket = 0x5d;
const openingBrace = 0x7b;
const closingBrace = 0x7d;

export function parseInSteps({ bytes, start, end }: RawJson): WorkSteps<Value> {
  return new StepParser(bytes, start, end).wholeInSteps();
}

export class StepParser extends JsonParser {
  /** Where the last step ended. */
  private pausedAt = this.at;
  /** The starts of the arrays and objects that the last scan found and that do not end before `scannedTo`. */
  private open: readonly number[] = [];
  /** The index in `open` from which on starts can equal the position of the parser. */
  private nextOpen = 0;
  /** The end of the last scan. */
  private scannedTo = this.at;

  *wholeInSteps(): WorkSteps<Value> {
    this.space();
    const value = yield* this.valueInSteps();
    this.checkEnd();
    return value;
  }

  protected *valueInSteps(): WorkSteps<Value> {
    const value = this.isLarge() ? yield* this.large() : this.value();
    if (this.isDue()) yield;
    return value;
  }

  /** Whether an array or object begins here that may be too large for one step. The scan for that reads no byte twice, also in nested ones. */
  private isLarge(): boolean {
    const { bytes, at, end } = this;
    if (end - at < stepBytes || (bytes[at] !== openingBracket && bytes[at] !== openingBrace)) return false;
    if (at >= this.scannedTo) {
      this.scannedTo = at + stepBytes;
      this.open = openContainers(bytes, at, this.scannedTo);
      this.nextOpen = 0;
    }
    while ((this.open[this.nextOpen] ?? at) < at) this.nextOpen++;
    return this.open[this.nextOpen] === at;
  }

  private *large(): WorkSteps<Value> {
    if (this.isDue()) yield;
    this.enter();
    const isArray = this.bytes[this.at++] === openingBracket;
    this.space();
    const isEmpty = this.bytes[this.at] === (isArray ? closingBracket : closingBrace);
    if (isEmpty) this.at++;
    const value = isArray ? [] : newObject();
    if (!isEmpty) yield* Array.isArray(value) ? this.items(value) : this.members(value);
    this.depth--;
    return value;
  }

  private *items(into: Value[]): WorkSteps<void> {
    do {
      this.space();
      into.push(this.isLarge() ? yield* this.large() : this.value());
      if (this.isDue()) yield;
      this.space();
    } while (this.comma(closingBracket));
  }

  private *members(into: Record<string, Value>): WorkSteps<void> {
    do {
      const name = this.memberName();
      const value = this.isLarge() ? yield* this.large() : this.value();
      if (into[name] === undefined || this.duplicates === 'last') into[name] = value;
      if (this.isDue()) yield;
      this.space();
    } while (this.comma(closingBrace));
  }

  private isDue(): boolean {
    if (this.at - this.pausedAt < stepBytes) return false;
    this.pausedAt = this.at;
    return true;
  }
}
