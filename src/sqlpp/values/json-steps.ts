// Parses large JSON text in steps.
import type { WorkSteps } from '#base/steps.ts';
import { JsonParser } from './json-parse.ts';
import { openContainers } from './json-scan.ts';
import { newObject, type RawJson, type Value } from './value.ts';

/** The bytes that a step parses, in about half a millisecond. */
const stepBytes = 64 << 10;

export function parseInSteps({ bytes, start, end }: RawJson): WorkSteps<Value> {
  return new StepParser(bytes, start, end).wholeInSteps();
}

export class StepParser extends JsonParser {
  private pausedAt = this.at;
  /** Where the arrays and objects of `open` begin, which do not end before `scannedTo`. */
  private open: readonly number[] = [];
  private nextOpen = 0;
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

  /** Whether an array or object begins here that takes about a step or more. Each byte is scanned once for that, however deep it is. */
  private isLarge(): boolean {
    const { bytes, at, end } = this;
    if (end - at < stepBytes || (bytes[at] !== 0x5b && bytes[at] !== 0x7b)) return false;
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
    const isArray = this.bytes[this.at++] === 0x5b;
    this.space();
    const isEmpty = this.bytes[this.at] === (isArray ? 0x5d : 0x7d);
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
    } while (this.comma(0x5d));
  }

  private *members(into: Record<string, Value>): WorkSteps<void> {
    do {
      const name = this.memberName();
      const value = this.isLarge() ? yield* this.large() : this.value();
      if (into[name] === undefined || this.repeated === 'last') into[name] = value;
      if (this.isDue()) yield;
      this.space();
    } while (this.comma(0x7d));
  }

  private isDue(): boolean {
    if (this.at - this.pausedAt < stepBytes) return false;
    this.pausedAt = this.at;
    return true;
  }
}
