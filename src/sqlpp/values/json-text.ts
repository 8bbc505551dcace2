// Formats values as JSON text like published servers: members in collation order of their names, shortest numbers, integers
// of 64 bits exact, NaN and infinities as strings, `<`, `>` and `&` unescaped. MISSING is omitted from objects and `null` elsewhere.
import { memberNames } from './collation.ts';
import { countSteps, countText, writtenSteps } from './step-limit.ts';
import { AnswerPieces, AnswerText, Binary, RawJson, type Value, type ValueObject } from './value.ts';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export function jsonText(value: Value): string {
  switch (typeof value) {
    case 'string':
      return stringText(value);
    case 'number':
      return numberText(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'bigint':
      return value.toString();
    case 'undefined':
      return 'null';
  }
  if (value === null) return 'null';
  if (Array.isArray(value)) return arrayText(value as readonly Value[]);
  if (value instanceof RawJson) return rawText(value);
  if (value instanceof AnswerText) return value.text;
  if (value instanceof AnswerPieces) return value.pieces.map(jsonText).join('');
  if (value instanceof Binary) return `"<binary (${value.bytes.length} b)>"`;
  return objectText(value as ValueObject);
}

function rawText({ bytes, start, end }: RawJson): string {
  countText(end - start);
  return decoder.decode(bytes.subarray(start, end));
}

/** The texts of this many elements are copied into one string: as pieces of a concatenation, each would take 80 bytes more. */
const partMask = 1_023;

/** A concatenation keeps all its pieces in memory until one of its characters is read. */
export const contiguous = (text: string): string => (text.charCodeAt(0) === 0 ? '' : text);

function arrayText(items: readonly Value[]): string {
  countSteps(writtenSteps * items.length);
  let text = '[';
  let part = '';
  for (let at = 0; at < items.length; at++) {
    part += at === 0 ? jsonText(items[at]) : `,${jsonText(items[at])}`;
    if ((at & partMask) !== partMask) continue;
    text += contiguous(part);
    part = '';
  }
  return `${text}${part}]`;
}

function objectText(object: ValueObject): string {
  const names = memberNames(object);
  countSteps(writtenSteps * names.length);
  let text = '{';
  for (const name of names) {
    const value = object[name];
    if (value === undefined) continue;
    text += `${text === '{' ? '' : ','}${stringText(name)}:${jsonText(value)}`;
  }
  return `${text}}`;
}

/** JSON.stringify is faster for longer texts. */
const plainMax = 64;

export function stringText(text: string): string {
  if (text.length <= plainMax && isPlain(text)) return `"${text}"`;
  countText(text.length);
  const quoted = JSON.stringify(text);
  return text.includes('\u2028') || text.includes('\u2029')
    ? quoted.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
    : quoted;
}

/** Printable ASCII without quotes and backslashes stands for itself. */
function isPlain(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code > 0x7e || code === 0x22 || code === 0x5c) return false;
  }
  return true;
}

/** 64-bit integers in full; other numbers with the fewest digits that parse to the same number, without an exponent. */
export function numberText(value: number): string {
  if (value === 0) return '0';
  if (Number.isFinite(value)) {
    if (Number.isInteger(value) && value < 2 ** 63 && value >= -(2 ** 63)) return integerText(value);
    const text = String(value);
    return text.includes('e') ? withoutExponent(text) : text;
  }
  if (Number.isNaN(value)) return '"NaN"';
  return value > 0 ? '"+Infinity"' : '"-Infinity"';
}

function integerText(value: number): string {
  return Number.isSafeInteger(value) ? String(value) : BigInt(value).toString();
}

function withoutExponent(text: string): string {
  const [mantissa = '', exponent = ''] = text.split('e');
  const sign = mantissa.startsWith('-') ? '-' : '';
  const [integerPart = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const digits = integerPart + fraction;
  const point = integerPart.length + Number(exponent);
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  return `${sign}${digits.padEnd(point, '0')}`;
}
