// Formats large values as JSON text in parts, between which other requests have the thread.
import { memberNames } from './collation.ts';
import { jsonText, stringText } from './json-text.ts';
import { isLargeText } from './parsed-texts.ts';
import { refuseLargeValue, renewSteps } from './step-limit.ts';
import { AnswerPieces, AnswerText, Binary, RawJson, type Value, type ValueObject } from './value.ts';

/** A part has about this many characters, if the value consists of small ones: less than a millisecond. */
const partCharacters = 64 << 10;
/** The size of a value is counted in units: one for each nested value and for each 16 characters. A value of more units is large. */
const smallMax = 8 << 10;
const unitCharacters = 16;

/** Whether the text of a value takes more than about a millisecond. The time to find out is limited. */
export function isLargeValue(value: Value): boolean {
  return typeof value === 'object' ? value !== null && remaining(value, smallMax) < 0 : isLong(value);
}

const isLong = (value: Value): boolean => typeof value === 'string' && value.length >= partCharacters;

/** What remains of `left` units after those of the value; below zero once nothing remains. */
function remaining(value: Value, left: number): number {
  if (typeof value === 'string') return left - 1 - value.length / unitCharacters;
  if (typeof value !== 'object' || value === null) return left - 1;
  if (value instanceof RawJson)
    return isLargeText(value) ? -1 : left - (value.end - value.start) / unitCharacters;
  if (value instanceof AnswerText) return remaining(value.text, left);
  if (value instanceof AnswerPieces) return -1;
  if (value instanceof Binary) return left - 1;
  let rest = left - 1;
  if (Array.isArray(value)) {
    for (const item of value as readonly Value[]) if ((rest = remaining(item, rest)) < 0) break;
    return rest;
  }
  const members = value as ValueObject;
  for (const name in members) if ((rest = remaining(members[name], rest)) < 0) break;
  return rest;
}

/** The most units of a value that is written: some values contain one value many times, and would have more text than a client can take. */
const unitsMax = 1 << 24;

/** The JSON text of a value in parts; the first ones, while its size is computed, are empty. @throws SqlError 5035 before any text, if it is too long */
export function* textParts(value: Value): Generator<string> {
  yield* checkSize(value, { left: unitsMax });
  for (const part of partsOf(value)) {
    yield part;
    renewSteps();
  }
}

/** Subtracts the units of a large value from `count.left`. */
function* checkSize(value: Value, count: { left: number }): Generator<string> {
  if (value instanceof RawJson) count.left -= (value.end - value.start) / unitCharacters;
  else if (value instanceof AnswerText) count.left -= value.text.length / unitCharacters;
  else if (typeof value === 'string') count.left -= value.length / unitCharacters;
  else yield* checkMembers((value instanceof AnswerPieces ? value.pieces : value) as ValueObject, count);
  if (count.left < 0) refuseLargeValue();
}

function* checkMembers(members: ValueObject, count: { left: number }): Generator<string> {
  let pauseAt = count.left;
  for (const name in members) {
    const rest = remaining(members[name], smallMax);
    if (rest < 0) yield* checkSize(members[name], count);
    else count.left -= smallMax - rest;
    if (count.left < 0) return;
    if (count.left > pauseAt) continue;
    pauseAt = count.left - smallMax;
    yield '';
  }
}

function* partsOf(value: Value): Generator<string> {
  if (!isLargeValue(value)) yield jsonText(value);
  else if (typeof value === 'string') yield* stringParts(value);
  else if (value instanceof RawJson) yield* rawParts(value);
  else if (value instanceof AnswerText) yield* charactersOf(value.text);
  else if (value instanceof AnswerPieces) for (const piece of value.pieces) yield* partsOf(piece);
  else if (Array.isArray(value)) yield* arrayParts(value as readonly Value[]);
  else yield* objectParts(value as ValueObject);
}

function* arrayParts(items: readonly Value[]): Generator<string> {
  const writer = new PartWriter('[');
  for (let at = 0; at < items.length; at++) yield* writer.add(at > 0 ? ',' : '', items[at]);
  yield writer.end(']');
}

function* objectParts(object: ValueObject): Generator<string> {
  const writer = new PartWriter('{');
  let isFirst = true;
  for (const name of memberNames(object)) {
    const value = object[name];
    if (value === undefined) continue;
    yield* writer.add(`${isFirst ? '' : ','}${stringText(name)}:`, value);
    isFirst = false;
  }
  yield writer.end('}');
}

/** Collects small values to parts. */
class PartWriter {
  private part: string;

  constructor(opening: string) {
    this.part = opening;
  }

  /** Returns the parts that are complete with this value. */
  add(before: string, value: Value): Iterable<string> {
    this.part += before;
    if (isLargeValue(value)) return this.large(value);
    this.part += jsonText(value);
    return this.part.length < partCharacters ? none : [this.drain()];
  }

  end(closing: string): string {
    return this.drain() + closing;
  }

  private *large(value: Value): Generator<string> {
    yield this.drain();
    yield* partsOf(value);
  }

  private drain(): string {
    const { part } = this;
    this.part = '';
    return part;
  }
}

const none: readonly string[] = [];

function* rawParts({ bytes, start, end }: RawJson): Generator<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  for (let at = start; at < end; at += partCharacters) {
    const partEnd = Math.min(at + partCharacters, end);
    yield decoder.decode(bytes.subarray(at, partEnd), { stream: partEnd < end });
  }
}

function* stringParts(text: string): Generator<string> {
  yield '"';
  for (const part of charactersOf(text)) yield stringText(part).slice(1, -1);
  yield '"';
}

/** Parts that do not divide a pair of surrogates. */
function* charactersOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    let end = at + partCharacters;
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end--;
    yield text.slice(at, end);
    at = end;
  }
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code < 0xdc00;
