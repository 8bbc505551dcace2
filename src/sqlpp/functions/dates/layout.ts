// Formats of dates in four styles: a layout that shows 2 January 2006, 15:04:05; percent signs; letters such as YYYY; an example
// (1111-11-11), which selects a known layout.
// All are compiled to a list of elements, with which dates are parsed and formatted.
import { sqlError } from '../../errors/sql-error.ts';
import { countSteps } from '../../values/step-limit.ts';

export type Pad = 'zero' | 'space' | 'none';

export type Element =
  | { readonly kind: 'text'; readonly text: string }
  /** A space; when parsing it matches any character. */
  | { readonly kind: 'space' }
  | NumberElement
  | {
      readonly kind: 'name';
      readonly of: 'month' | 'weekday';
      readonly isShort: boolean;
      readonly isUpper: boolean;
    }
  /** st, nd, rd, th of the day. */
  | { readonly kind: 'ordinal'; readonly isUpper: boolean }
  /** AM or PM. */
  | { readonly kind: 'meridiem'; readonly isUpper: boolean; readonly ignoresCase: boolean }
  | FractionElement
  | ZoneElement
  | { readonly kind: 'unknown'; readonly text: string };

export interface NumberElement {
  readonly kind: 'number';
  readonly of:
    | 'year'
    | 'century'
    | 'short year'
    | 'month'
    | 'day'
    | 'hour'
    /** The hour of a half day: from 1 to 12. */
    | 'hour12'
    | 'minute'
    | 'second'
    | 'epoch';
  /** Digits when formatting. */
  readonly width: number;
  readonly pad: Pad;
  /** Minimum and maximum digits when parsing. */
  readonly minimum: number;
  readonly maximum: number;
  /** Parsing refuses 0 as an `hour12`. */
  readonly refusesZero?: boolean;
}

export interface FractionElement {
  readonly kind: 'fraction';
  readonly digits: number;
  /** Omits trailing zeros and an empty fraction; when parsing the fraction is optional. */
  readonly isTrimmed: boolean;
  readonly hasPoint: boolean;
}

export interface ZoneElement {
  readonly kind: 'zone';
  /** `any`: parsing accepts offsets and names; formatting writes an offset with minutes. */
  readonly style: 'minutes' | 'hours' | 'name' | 'any';
  readonly hasColon: boolean;
  /** UTC is written and read as `Z`. */
  readonly isZulu: boolean;
}

const number = (
  of: NumberElement['of'],
  width = 2,
  minimum = width,
  maximum = Math.max(2, width),
  pad: Pad = 'zero',
): NumberElement => ({
  kind: 'number',
  of,
  width,
  pad,
  minimum,
  maximum,
});
const text = (value: string): Element => ({ kind: 'text', text: value });
const name = (of: 'month' | 'weekday', isShort: boolean): Element => ({
  kind: 'name',
  of,
  isShort,
  isUpper: false,
});
const meridiem = (isUpper: boolean): Element => ({ kind: 'meridiem', isUpper, ignoresCase: false });
const zone = (style: ZoneElement['style'], hasColon: boolean, isZulu: boolean): Element => ({
  kind: 'zone',
  style,
  hasColon,
  isZulu,
});

/** Elements by their text in the layout, longer before shorter. */
const layoutElements: readonly (readonly [pattern: RegExp, element: (match: string) => Element])[] = [
  [/January/y, () => name('month', false)],
  [/Jan/y, () => name('month', true)],
  [/Monday/y, () => name('weekday', false)],
  [/Mon/y, () => name('weekday', true)],
  [/MST/y, () => zone('name', false, false)],
  [/2006/y, () => number('year', 4)],
  [/01/y, () => number('month')],
  [/02/y, () => number('day')],
  [/03/y, () => number('hour12')],
  [/04/y, () => number('minute')],
  [/05/y, () => number('second')],
  [/06/y, () => number('short year')],
  [/15/y, () => number('hour', 2, 1)],
  [/1/y, () => number('month', 1)],
  [/_2/y, () => number('day', 2, 1, 2, 'space')],
  [/2/y, () => number('day', 1)],
  [/3/y, () => number('hour12', 1)],
  [/4/y, () => number('minute', 1)],
  [/5/y, () => number('second', 1)],
  [/PM/y, () => meridiem(true)],
  [/pm/y, () => meridiem(false)],
  [/Z07:00/y, () => zone('minutes', true, true)],
  [/Z0700/y, () => zone('minutes', false, true)],
  [/Z07/y, () => zone('hours', false, true)],
  [/-07:00/y, () => zone('minutes', true, false)],
  [/-0700/y, () => zone('minutes', false, false)],
  [/-07/y, () => zone('hours', false, false)],
  [
    /[.,]0+(?!\d)/y,
    (match) => ({ kind: 'fraction', digits: match.length - 1, isTrimmed: false, hasPoint: true }),
  ],
  [
    /[.,]9+(?!\d)/y,
    (match) => ({ kind: 'fraction', digits: match.length - 1, isTrimmed: true, hasPoint: true }),
  ],
];

/** The steps that are counted for a character of a format: it is compared with all patterns, and becomes an element. */
const characterSteps = 512;

export function layout(format: string): Element[] {
  countSteps(characterSteps * format.length);
  const elements: Element[] = [];
  for (let at = 0; at < format.length; ) {
    let length = 1;
    let element: Element = text(format[at] as string);
    for (const [pattern, make] of layoutElements) {
      pattern.lastIndex = at;
      const match = pattern.exec(format)?.[0];
      if (match === undefined) continue;
      element = make(match);
      length = match.length;
      break;
    }
    elements.push(element);
    at += length;
  }
  return elements;
}

/** The most digits of a number, as `%10Y` asks for ten. */
const widthMax = 1_000;

/** `%Y-%m-%d %H:%M:%S` */
export function percentFormat(format: string): Element[] {
  countSteps(characterSteps * format.length);
  const elements: Element[] = [];
  const directive = /%([_\-0^]?)(\d*)[EO]?([\s\S]?)|[\s\S]/gy;
  for (const [matched, flag = '', width = '', letter] of format.matchAll(directive)) {
    if (letter === undefined || matched === '%')
      elements.push(matched === ' ' ? { kind: 'space' } : text(matched));
    else {
      if (Number(width) > widthMax) throw sqlError(5035, 'the width in a date format');
      elements.push(...percentElements(letter, flag, Number(width)));
    }
  }
  return elements;
}

/** A number that parsing accepts with exactly `digits` digits, or with fewer if it is not padded. `width` 0: as many as `digits`. */
const strictNumber = (of: NumberElement['of'], digits: number, width: number, pad: Pad): NumberElement => ({
  kind: 'number',
  of,
  width: width || digits,
  pad,
  minimum: pad === 'none' ? 1 : digits,
  maximum: digits,
  refusesZero: true,
});

function percentElements(letter: string, flag: string, width: number): readonly Element[] {
  const pad: Pad = flag === '_' ? 'space' : flag === '-' ? 'none' : 'zero';
  const isUpper = flag === '^';
  const numeric = (of: NumberElement['of'], digits = 2): Element => strictNumber(of, digits, width, pad);
  const named = (of: 'month' | 'weekday', isShort: boolean): Element => ({
    kind: 'name',
    of,
    isShort,
    isUpper,
  });
  switch (letter) {
    case 'Y':
      return [numeric('year', 4)];
    case 'C':
      return [numeric('century')];
    case 'y':
      return [numeric('short year')];
    case 'm':
      return [numeric('month')];
    case 'B':
      return [named('month', false)];
    case 'b':
      return [named('month', true)];
    case 'd':
      return [numeric('day')];
    case 'e':
      return [number('day', 2, 1, 2, 'space')];
    case 'f':
      return [{ kind: 'ordinal', isUpper }];
    case 'A':
      return [named('weekday', false)];
    case 'a':
      return [named('weekday', true)];
    case 'H':
      return [numeric('hour')];
    case 'k':
      return [number('hour', 2, 1, 2, 'space')];
    case 'I':
      return [numeric('hour12')];
    case 'l':
      return [number('hour12', 2, 1, 2, 'space')];
    case 'p':
      return [{ kind: 'meridiem', isUpper: true, ignoresCase: isUpper }];
    case 'P':
      return [{ kind: 'meridiem', isUpper, ignoresCase: isUpper }];
    case 'M':
      return [numeric('minute')];
    case 'S':
      return [numeric('second')];
    case 'R':
      return [numeric('hour'), text(':'), numeric('minute')];
    case 'T':
      return [numeric('hour'), text(':'), numeric('minute'), text(':'), numeric('second')];
    case 'D':
      return layout('2006-01-02');
    case 'F':
      return layout(defaultLayout);
    case 'N':
      return [{ kind: 'fraction', digits: width || 9, isTrimmed: false, hasPoint: false }];
    case 'n':
      return [{ kind: 'fraction', digits: 3, isTrimmed: false, hasPoint: false }];
    case 'z':
      return [zone('any', false, false)];
    case 'Z':
      return [zone('name', false, false)];
    case 's':
      return [{ kind: 'number', of: 'epoch', width: width || 1, pad: 'none', minimum: 1, maximum: 12 }];
    case '%':
      return [text('%')];
    default:
      return [{ kind: 'unknown', text: `!(Unknown format: '${letter}')` }];
  }
}

/** `YYYY-MM-DD hh:mm:ss.s TZD` */
const letterElements: readonly (readonly [pattern: RegExp, element: Element])[] = [
  [/YYYY/y, number('year', 4)],
  [/CC/y, number('century')],
  [/YY/y, number('short year')],
  [/MM/y, number('month', 2, 1)],
  [/DD/y, number('day', 2, 1)],
  [/hh/y, number('hour', 2, 1)],
  [/HH/y, { ...number('hour12', 2, 1), refusesZero: true }],
  [/mm/y, number('minute', 2, 1)],
  [/PP/y, { kind: 'meridiem', isUpper: true, ignoresCase: true }],
  [/pp/y, { kind: 'meridiem', isUpper: false, ignoresCase: true }],
  // Nanoseconds are `sss`, milliseconds `s`.
  [/sss(?!s)/y, { kind: 'fraction', digits: 9, isTrimmed: false, hasPoint: false }],
  [/ss(?!s)/y, number('second', 2, 1)],
  [/s(?!s)/y, { kind: 'fraction', digits: 3, isTrimmed: false, hasPoint: false }],
  [/TZD/y, zone('any', true, true)],
];

export function letterFormat(format: string): Element[] {
  countSteps(characterSteps * format.length);
  const elements: Element[] = [];
  for (let at = 0; at < format.length; ) {
    const found = letterElements.find(([pattern]) => {
      pattern.lastIndex = at;
      return pattern.test(format);
    });
    elements.push(found?.[1] ?? (format[at] === ' ' ? { kind: 'space' } : text(format[at] as string)));
    const pattern = found?.[0];
    if (pattern !== undefined) {
      pattern.lastIndex = at;
      at += pattern.exec(format)?.[0].length ?? 1;
    } else at++;
  }
  return elements;
}

export const defaultLayout = '2006-01-02T15:04:05.999Z07:00';

/** The layouts that are tried for a date whose format is not given. */
export const knownLayouts: readonly string[] = [
  defaultLayout,
  '2006-01-02 15:04:05.999Z07:00',
  '2006-01-02T15:04:05.999Z0700',
  '2006-01-02 15:04:05.999Z0700',
  '2006-01-02T15:04:05.999Z07',
  '2006-01-02 15:04:05.999Z07',
  '2006-01-02T15:04:05Z07:00',
  '2006-01-02 15:04:05Z07:00',
  '2006-01-02T15:04:05Z0700',
  '2006-01-02 15:04:05Z0700',
  '2006-01-02T15:04:05Z07',
  '2006-01-02 15:04:05Z07',
  '2006-01-02T15:04:05.999',
  '2006-01-02 15:04:05.999',
  '2006-01-02T15:04:05',
  '2006-01-02 15:04:05',
  '2006-01-02',
  '15:04:05.999Z07:00',
  '15:04:05Z07:00',
  '15:04:05.000000000',
  '15:04:05.000000',
  '15:04:05.999',
  '15:04:05',
];

export const knownElements: readonly (readonly Element[])[] = knownLayouts.map(layout);

/** Parsing a layout takes much longer than reading or writing a date. */
export const elementsByLayout: ReadonlyMap<string, readonly Element[]> = new Map(
  knownLayouts.map((known, at) => [known, knownElements[at] as readonly Element[]]),
);

export type FormatStyle = 'default' | 'percent' | 'letters' | 'layout' | 'example';

export function styleOf(format: string): FormatStyle {
  const trimmed = format.trim();
  if (trimmed === '') return 'default';
  if (trimmed.includes('%')) return 'percent';
  if (!/\d/.test(trimmed)) return 'letters';
  // A layout begins with the year 2006, with one of its numbers from 1 to 6, or with no digit.
  const digits = /^\d*/.exec(trimmed)?.[0] ?? '';
  return digits === '' || digits === '2006' || /^0?[1-6]$/.test(digits) ? 'layout' : 'example';
}
