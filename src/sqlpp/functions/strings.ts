// Functions of strings. Positions and lengths count bytes of UTF-8.

import { sqlError } from '../errors/sql-error.ts';
import { finiteIntegerOf, integerOf } from '../values/integer-value.ts';
import { countSteps, writtenSteps } from '../values/step-limit.ts';
import type { Value } from '../values/value.ts';
import { byteLength, byteOffset, byteSlice, isAscii } from './bytes.ts';
import { Declarations, type Implementation } from './declaration.ts';
import { lowerCase, titleLetter, upperCase } from './letter-case.ts';
import { mask } from './mask.ts';
import { TextParts } from './text-parts.ts';
import { characterBefore, includesText, indexOfText, TextSearch } from './text-search.ts';

/** The most repetitions, or items of a range. */
export const repeatMax = 32_767;
/** The longest string that a function creates, in UTF-16 units; LPAD and RPAD: in bytes. */
export const textMax = 64 * 1024 * 1024;
/** In UTF-16 units. */
const shortText = 1_024;
/** The steps that are counted for a text in an array. */
const partSteps = 2 * writtenSteps;

const synonyms = (...list: string[]): { synonyms: string[] } => ({ synonyms: list });

/** A function of one string; its result is NULL for an argument of another type. */
const ofText =
  (compute: (text: string) => Value): Implementation =>
  ([text]) =>
    typeof text === 'string' ? compute(text) : null;

const ofTexts =
  (compute: (text: string, other: string) => Value): Implementation =>
  ([text, other]) =>
    typeof text === 'string' && typeof other === 'string' ? compute(text, other) : null;

/** A letter at the start of a word: after white space, and after any ASCII character but a letter, a digit or an underscore. */
const firstLetter = /(?<=^|[\0-/:-@[-^`{-\x7f]|\p{White_Space})\p{L}/gu;
/** The steps that are counted for a capital: finding it takes more than a hundred bytes. */
const capitalSteps = 64;

/** Lower case with a capital at the start of each word. */
function title(text: string): string {
  const lower = lowerCase(text);
  const parts = new TextParts();
  let from = 0;
  for (const { 0: letter, index } of lower.matchAll(firstLetter)) {
    countSteps(capitalSteps);
    parts.add(lower.slice(from, index) + titleLetter(letter));
    from = index + letter.length;
  }
  return parts.text() + lower.slice(from);
}

const space = ' \t\n\f\r';

const trim =
  (atStart: boolean, atEnd: boolean): Implementation =>
  ([text, characters = space]) => {
    if (typeof text !== 'string' || typeof characters !== 'string') return null;
    const set = new Set(characters);
    let start = 0;
    let end = text.length;
    while (atStart && start < end) {
      const first = String.fromCodePoint(text.codePointAt(start) as number);
      if (!set.has(first)) break;
      start += first.length;
    }
    while (atEnd && end > start) {
      const last = characterBefore(text, end);
      if (!set.has(last)) break;
      end -= last.length;
    }
    return text.slice(start, end);
  };

const position = (from: number): Implementation =>
  ofTexts((text, searched) => byteOffset(text, indexOfText(text, searched)) + from);

/** `first` is the position of the first byte. */
const substring =
  (first: 0 | 1): Implementation =>
  ([text, from, count]) => {
    const start = finiteIntegerOf(from);
    const length = finiteIntegerOf(count);
    if (typeof text !== 'string' || start === undefined) return null;
    if (count !== undefined && length === undefined) return null;
    const size = byteLength(text);
    const at = start < 0 ? size + start : start > 0 ? start - first : start;
    if (at < 0 || at >= size || (length !== undefined && length < 0)) return null;
    return byteSlice(text, at, length === undefined ? size : Math.min(size, at + length));
  };

const repeat: Implementation = ([text, number]) => {
  const count = finiteIntegerOf(number);
  if (typeof text !== 'string' || count === undefined || count < 0) return null;
  if (count > repeatMax || count * text.length > textMax) throw sqlError(5035, 'REPEAT()');
  return text.repeat(count);
};

const replace: Implementation = ([text, searched, by, count]) => {
  if (typeof text !== 'string' || typeof searched !== 'string' || typeof by !== 'string') return null;
  const wanted = count === undefined ? Infinity : integerOf(count);
  if (wanted === undefined) return null;
  const times = wanted < 0 ? Infinity : wanted;
  return searched === '' ? inserted(text, by, times) : replaced(text, searched, by, times);
};

/** The text with another one before each character and after the last. */
function inserted(text: string, by: string, times: number): string {
  const parts = new TextParts();
  let left = times;
  for (const character of text) {
    parts.add(left-- > 0 ? by + character : character);
    if (parts.length > textMax) throw sqlError(5035, 'REPLACE()');
  }
  return left > 0 ? parts.text() + by : parts.text();
}

function replaced(text: string, searched: string, by: string, times: number): string {
  const search = new TextSearch(searched, text.length);
  const parts = new TextParts();
  let from = 0;
  let left = times;
  for (let at = search.find(text); at >= 0 && left > 0; at = search.find(text, from)) {
    parts.add(text.slice(from, at) + by);
    if (parts.length > textMax) throw sqlError(5035, 'REPLACE()');
    from = at + searched.length;
    left--;
  }
  if (parts.length + text.length - from > textMax) throw sqlError(5035, 'REPLACE()');
  return parts.text() + text.slice(from);
}

/** Reverses the characters; combining marks stay after their letters. */
function reverse(text: string): string {
  if (isAscii(text)) return Buffer.from(text, 'latin1').reverse().toString('latin1');
  countSteps(writtenSteps * text.length);
  return (text.match(/\P{M}\p{M}*|\p{M}+/gsu) ?? []).reverse().join('');
}

const split: Implementation = ([text, separator]) => {
  if (typeof text !== 'string') return null;
  if (separator !== undefined && typeof separator !== 'string') return null;
  if (text.length <= shortText) return splitShort(text, separator);
  if (separator === undefined) return Array.from(text.matchAll(/\S+/g), ([word]) => part(word));
  return separator === '' ? Array.from(text, part) : partsBetween(text, separator);
};

/** For short texts: they have so few parts that these are not counted, and V8's methods are faster. */
function splitShort(text: string, separator: string | undefined): string[] {
  if (separator === undefined) return text.split(/\s+/).filter((word) => word !== '');
  return separator === '' ? [...text] : text.split(separator);
}

/** Counts steps for a part of the result: ten million parts would take hundreds of megabytes. */
function part(text: string): string {
  countSteps(partSteps);
  return text;
}

function partsBetween(text: string, separator: string): string[] {
  const search = new TextSearch(separator, text.length);
  const parts: string[] = [];
  let from = 0;
  for (let at = search.find(text); at >= 0; at = search.find(text, from)) {
    parts.push(part(text.slice(from, at)));
    from = at + separator.length;
  }
  parts.push(part(text.slice(from)));
  return parts;
}

const pad =
  (isRight: boolean): Implementation =>
  ([text, width, filler = ' ']) => {
    const length = finiteIntegerOf(width);
    if (typeof text !== 'string' || length === undefined || length < 0) return null;
    if (typeof filler !== 'string' || filler === '') return null;
    if (length > textMax) throw sqlError(5035, isRight ? 'RPAD()' : 'LPAD()');
    const missing = length - byteLength(text);
    if (missing <= 0) return byteSlice(text, 0, length);
    const filled = byteSlice(filler.repeat(Math.ceil(missing / byteLength(filler))), 0, missing);
    return isRight ? text + filled : filled + text;
  };

/** All suffixes of a longer text would have more than 2^27 characters. */
const suffixTextMax = 16_384;

const suffixes: Implementation = ofText((text) => {
  if (text.length > suffixTextMax) throw sqlError(5035, 'SUFFIXES()');
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1)
    parts.push(text.slice(at));
  return parts;
});

const concat: Implementation = (values) => {
  if (!values.every((value) => typeof value === 'string')) return null;
  if (values.reduce((sum, value) => sum + (value as string).length, 0) > textMax)
    throw sqlError(5035, 'CONCAT()');
  return values.join('');
};

/** Joins strings and arrays of strings with the first argument as the separator. */
const concat2: Implementation = (values) => {
  const [separator, ...others] = values;
  if (typeof separator !== 'string') return null;
  const parts = others.flat() as Value[];
  if (parts.includes(undefined)) return undefined;
  if (!parts.every((part) => typeof part === 'string')) return null;
  const separators = separator.length * Math.max(0, parts.length - 1);
  if (parts.reduce((sum, part) => sum + part.length, separators) > textMax) throw sqlError(5035, 'CONCAT2()');
  return parts.join(separator);
};

export const strings = new Declarations('string')
  .add('concat', 'string, string [, string …]', 'The strings joined, like `||`.', concat, {
    nulls: 'onlyMissing',
  })
  .add(
    'concat2',
    'separator, strings [, strings …]',
    'The strings, and those of arrays, with the separator between them.',
    concat2,
    { nulls: 'onlyMissing' },
  )
  .add('contains', 'string, searched', 'Whether the first string contains the second.', ofTexts(includesText))
  .add('length', 'string', 'How many bytes of UTF-8 the string has.', ofText(byteLength))
  .add('lower', 'string', 'The string in lower case.', ofText(lowerCase))
  .add('upper', 'string', 'The string in upper case.', ofText(upperCase))
  .add(
    'title',
    'string',
    'The string with a capital at the beginning of each word.',
    ofText(title),
    synonyms('initcap'),
  )
  .add(
    'trim',
    'string [, characters]',
    'The string without white space, or these characters, at both ends.',
    trim(true, true),
  )
  .add(
    'ltrim',
    'string [, characters]',
    'The string without white space, or these characters, at its start.',
    trim(true, false),
  )
  .add(
    'rtrim',
    'string [, characters]',
    'The string without white space, or these characters, at its end.',
    trim(false, true),
  )
  .add(
    'lpad',
    'string, length [, filler]',
    'The string filled at its start, or cut, to `length` bytes.',
    pad(false),
  )
  .add(
    'rpad',
    'string, length [, filler]',
    'The string filled at its end, or cut, to `length` bytes.',
    pad(true),
  )
  .add(
    'position',
    'string, searched',
    'The first position of the second string in the first, from 0; -1 without one.',
    position(0),
    synonyms('pos', 'position0', 'pos0'),
  )
  .add(
    'position1',
    'string, searched',
    'The first position of the second string in the first, from 1; 0 without one.',
    position(1),
    synonyms('pos1'),
  )
  .add('repeat', 'string, count', 'The string repeated `count` times.', repeat)
  .add(
    'replace',
    'string, searched, by [, count]',
    'The string with the second one replaced by the third, everywhere or the first `count` times.',
    replace,
  )
  .add(
    'reverse',
    'string',
    'The string in reverse order; combining marks stay after their letters.',
    ofText(reverse),
  )
  .add('split', 'string [, separator]', 'The parts between separators, or between white space.', split)
  .add(
    'substr',
    'string, position [, length]',
    'The part from a position on, counted from 0, or from the end if negative.',
    substring(0),
    synonyms('substr0'),
  )
  .add(
    'substr1',
    'string, position [, length]',
    'The part from a position on, counted from 1, or from the end if negative.',
    substring(1),
  )
  .add('suffixes', 'string', 'All suffixes of the string, the longest first.', suffixes)
  .add(
    'mask',
    'string [, options]',
    'The string with characters replaced by those of the mask in the options.',
    mask,
  );
