// Parses dates.
import { countSteps } from '../../values/step-limit.ts';
import {
  type Element,
  elementsByLayout,
  type FractionElement,
  knownElements,
  knownLayouts,
  layout,
  letterFormat,
  type NumberElement,
  percentFormat,
  styleOf,
  type ZoneElement,
} from './layout.ts';
import { months, weekdays } from './names.ts';
import {
  daysInMonth,
  fixedZone,
  isDate,
  type Zone,
  type ZonedTime,
  zonedTimeOf,
  zoneNamed,
} from './zoned-time.ts';

/** Parses by a format, or without one by the known layouts; undefined if none matches. */
export function readDate(text: string, format: string, local: Zone): ZonedTime | undefined {
  return dateReader(format, local)(text);
}

/** Parses the format once for many texts. */
export function dateReader(format: string, local: Zone): (text: string) => ZonedTime | undefined {
  if (styleOf(format) === 'default') return (text) => readKnown(text, local)?.time;
  const elements = elementsOf(format, local);
  if (elements === undefined) return () => undefined;
  return (text) => {
    countSteps(elements.length);
    return read(text, elements, local);
  };
}

function elementsOf(format: string, local: Zone): readonly Element[] | undefined {
  switch (styleOf(format)) {
    case 'percent':
      return percentFormat(format);
    case 'letters':
      return letterFormat(format);
    case 'layout':
      return withFractions(layout(format));
    default: {
      const closest = readClosest(format, local);
      return closest === undefined ? undefined : withFractions(layout(closest));
    }
  }
}

const optionalFraction: Element = { kind: 'fraction', digits: 9, isTrimmed: true, hasPoint: true };

/** Seconds of a text may have a fraction that its layout lacks. */
function withFractions(elements: readonly Element[]): readonly Element[] {
  return elements.flatMap((element, at) => {
    const isSecond = element.kind === 'number' && element.of === 'second';
    return isSecond && elements[at + 1]?.kind !== 'fraction' ? [element, optionalFraction] : [element];
  });
}

/** Layouts of the text's length are tried first. */
export function readKnown(
  text: string,
  local: Zone,
): { readonly time: ZonedTime; readonly layout: string } | undefined {
  for (const isSameLength of [true, false]) {
    for (let at = 0; at < knownLayouts.length; at++) {
      const candidate = knownLayouts[at] as string;
      if ((candidate.length === text.length) !== isSameLength) continue;
      const time = read(text, knownElements[at] as readonly Element[], local);
      if (time !== undefined) return { time, layout: candidate };
    }
  }
  return undefined;
}

/** The known layout of an example: the layout with the nearest length. One without a fraction counts for an example with one, which is then written. */
export function readClosest(example: string, local: Zone): string | undefined {
  const hasFraction = /:\d\d\.\d/.test(example);
  let closest: string | undefined;
  let distance = Infinity;
  for (const candidate of knownLayouts) {
    const written = hasFraction ? candidate.replace(/:05(?!\.)/, ':05.999') : candidate;
    const elements = elementsByLayout.get(written) as readonly Element[];
    if (read(example, elements, local) === undefined) continue;
    const found = Math.abs(candidate.length - example.length);
    if (found === 0) return written;
    if (found < distance) [closest, distance] = [written, found];
  }
  return closest;
}

interface ParsedFields {
  year: number | undefined;
  century: number | undefined;
  shortYear: number | undefined;
  month: number;
  day: number;
  hour: number;
  isTwelveHour: boolean;
  isAfternoon: boolean | undefined;
  minute: number;
  second: number;
  millisecond: number;
  zone: Zone | undefined;
  epochMs: number | undefined;
}

function read(text: string, elements: readonly Element[], local: Zone): ZonedTime | undefined {
  const reader = new Reader(text);
  for (const element of elements) if (!reader.element(element)) return undefined;
  return reader.isAtEnd ? timeOfFields(reader.found, local) : undefined;
}

class Reader {
  readonly found: ParsedFields = {
    year: undefined,
    century: undefined,
    shortYear: undefined,
    month: 1,
    day: 1,
    hour: 0,
    isTwelveHour: false,
    isAfternoon: undefined,
    minute: 0,
    second: 0,
    millisecond: 0,
    zone: undefined,
    epochMs: undefined,
  };
  private at = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  get isAtEnd(): boolean {
    return this.at === this.text.length;
  }

  element(element: Element): boolean {
    switch (element.kind) {
      case 'text':
        return this.accept(element.text);
      case 'space':
        return this.accept(this.text[this.at] ?? ' ');
      case 'number':
        return this.number(element);
      case 'name':
        return this.name(element.of === 'month' ? months : weekdays, element);
      case 'ordinal':
        return this.match(/(?:st|nd|rd|th)/iy) !== undefined;
      case 'meridiem':
        return this.meridiem(element.isUpper, element.ignoresCase);
      case 'fraction':
        return this.fraction(element);
      case 'zone':
        return this.zone(element);
      case 'unknown':
        return false;
    }
  }

  private accept(text: string): boolean {
    if (!this.text.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }

  private match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.text);
    if (match === null) return undefined;
    this.at += match[0].length;
    return match;
  }

  private number({ of, minimum, maximum, pad, refusesZero }: NumberElement): boolean {
    if (pad === 'space') this.match(/ +/y);
    const digits = this.match(new RegExp(`\\d{${minimum},${maximum}}`, 'y'))?.[0];
    if (digits === undefined || (refusesZero === true && of === 'hour12' && Number(digits) === 0))
      return false;
    return this.set(of, Number(digits));
  }

  private set(of: NumberElement['of'], value: number): boolean {
    const { found } = this;
    switch (of) {
      case 'year':
        found.year = value;
        return true;
      case 'century':
        found.century = value;
        return true;
      case 'short year':
        found.shortYear = value;
        return true;
      case 'month':
        found.month = value;
        return value >= 1 && value <= 12;
      case 'day':
        found.day = value;
        return value >= 1 && value <= 31;
      case 'hour':
        found.hour = value;
        found.isTwelveHour = false;
        return value <= 23;
      case 'hour12':
        found.hour = value;
        found.isTwelveHour = true;
        return value <= 12;
      case 'minute':
        found.minute = value;
        return value <= 59;
      case 'second':
        found.second = value;
        return value <= 59;
      case 'epoch':
        found.epochMs = value * 1000;
        return true;
    }
  }

  private name(
    names: readonly string[],
    { isShort, isUpper }: { isShort: boolean; isUpper: boolean },
  ): boolean {
    const which = names.findIndex((name) => {
      const wanted = isShort ? name.slice(0, 3) : name;
      const written = this.text.slice(this.at, this.at + wanted.length);
      if (isUpper ? written.toUpperCase() !== wanted.toUpperCase() : written !== wanted) return false;
      this.at += wanted.length;
      return true;
    });
    if (which >= 0 && names === months) this.found.month = which + 1;
    return which >= 0;
  }

  private meridiem(isUpper: boolean, ignoresCase: boolean): boolean {
    const match = this.match(ignoresCase ? /[ap]m/iy : isUpper ? /[AP]M/y : /[ap]m/y);
    if (match === undefined) return false;
    this.found.isAfternoon = match[0].toLowerCase() === 'pm';
    return true;
  }

  private fraction({ digits, isTrimmed, hasPoint }: FractionElement): boolean {
    const pattern = hasPoint
      ? isTrimmed
        ? /[.,](\d+)/y
        : new RegExp(`[.,](\\d{${digits}})`, 'y')
      : /(\d{1,9})/y;
    const match = this.match(pattern);
    if (match === undefined) return isTrimmed;
    this.found.millisecond = Math.floor(Number(`0.${match[1]}`) * 1000 + 1e-7);
    return true;
  }

  private zone({ style, hasColon, isZulu }: ZoneElement): boolean {
    if ((isZulu || style === 'any') && this.accept('Z')) return this.setZone(0);
    if (style === 'any') return this.anyOffset() || this.zoneName();
    if (style === 'name') return this.zoneName();
    const pattern =
      style === 'hours' ? /([+-])(\d\d)/y : hasColon ? /([+-])(\d\d):(\d\d)/y : /([+-])(\d\d)(\d\d)/y;
    return this.offset(this.match(pattern));
  }

  private anyOffset(): boolean {
    return this.offset(this.match(/([+-])(\d\d)(?::?(\d\d))?(?::\d\d)?/y));
  }

  private offset(match: RegExpExecArray | undefined): boolean {
    if (match === undefined) return false;
    const minutes = Number(match[2]) * 60 + Number(match[3] ?? 0);
    return minutes <= 24 * 60 && this.setZone(match[1] === '-' ? -minutes : minutes);
  }

  private setZone(minutes: number): boolean {
    this.found.zone = minutes === 0 ? zoneNamed('UTC') : fixedZone(minutes);
    return true;
  }

  private zoneName(): boolean {
    const name = this.match(/[A-Za-z][\w+/-]*/y)?.[0];
    const zone = name === undefined ? undefined : zoneNamed(name);
    this.found.zone = zone;
    return zone !== undefined;
  }
}

function timeOfFields(found: ParsedFields, local: Zone): ZonedTime | undefined {
  const zone = found.zone ?? local;
  if (found.epochMs !== undefined) return { ms: found.epochMs, zone };
  const year = yearOf(found);
  const { month, day, minute, second, millisecond } = found;
  if (day > daysInMonth(year, month)) return undefined;
  const time = zonedTimeOf({ year, month, day, hour: hourOf(found), minute, second, millisecond }, zone);
  return isDate(time.ms) ? time : undefined;
}

/** Two digits mean 1969 to 2068. */
function yearOf({ year, century, shortYear }: ParsedFields): number {
  if (year !== undefined) return year;
  if (century !== undefined) return century * 100 + (shortYear ?? 0);
  if (shortYear === undefined) return 0;
  return shortYear + (shortYear >= 69 ? 1900 : 2000);
}

function hourOf({ hour, isTwelveHour, isAfternoon }: ParsedFields): number {
  if (isAfternoon === true && hour < 12) return hour + 12;
  if (isTwelveHour && isAfternoon !== true && hour === 12) return 0;
  return isAfternoon === false && hour === 12 ? 0 : hour;
}
