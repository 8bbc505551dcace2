// Formats dates.
import { countSteps } from '../../values/step-limit.ts';
import {
  defaultLayout,
  type Element,
  elementsByLayout,
  type FractionElement,
  layout,
  letterFormat,
  type NumberElement,
  percentFormat,
  styleOf,
  type ZoneElement,
} from './layout.ts';
import { months, weekdays } from './names.ts';
import { readClosest } from './read.ts';
import {
  type Fields,
  fieldsOf,
  offsetMinutes,
  twoDigits,
  utc,
  weekdayOf,
  type ZonedTime,
  zoneLabel,
} from './zoned-time.ts';

/** An empty format and an example that is not a date select the default format. */
export function writeDate(time: ZonedTime, format: string): string {
  return write(time, elementsOf(format));
}

/** Parses the format once for many dates. */
export function dateWriter(format: string): (time: ZonedTime) => string {
  const elements = elementsOf(format);
  return (time) => {
    countSteps(elements.length);
    return write(time, elements);
  };
}

function elementsOf(format: string): readonly Element[] {
  switch (styleOf(format)) {
    case 'default':
      return elementsByLayout.get(defaultLayout) ?? [];
    case 'percent':
      return percentFormat(format);
    case 'letters':
      return letterFormat(format);
    case 'layout':
      return layout(format);
    case 'example':
      return elementsByLayout.get(readClosest(format, utc) ?? defaultLayout) ?? [];
  }
}

/** Writes a date in one of the known layouts; without one: an empty text. */
export function writeLayout(time: ZonedTime, knownLayout: string): string {
  return write(time, elementsByLayout.get(knownLayout) ?? []);
}

function write(time: ZonedTime, elements: readonly Element[]): string {
  const fields = fieldsOf(time);
  return elements.map((element) => elementText(element, time, fields)).join('');
}

function elementText(element: Element, time: ZonedTime, fields: Fields): string {
  switch (element.kind) {
    case 'text':
    case 'unknown':
      return element.text;
    case 'space':
      return ' ';
    case 'number':
      return numberText(element, numberAt(element.of, time, fields));
    case 'name': {
      const name = (element.of === 'month' ? months[fields.month - 1] : weekdays[weekdayOf(time)]) as string;
      const part = element.isShort ? name.slice(0, 3) : name;
      return element.isUpper ? part.toUpperCase() : part;
    }
    case 'ordinal': {
      // As the published server writes it, 31 has `th`, too.
      const suffix = { 1: 'st', 2: 'nd', 3: 'rd' }[fields.day % 10] ?? 'th';
      const text = fields.day >= 10 && fields.day <= 20 ? 'th' : fields.day === 31 ? 'th' : suffix;
      return element.isUpper ? text.toUpperCase() : text;
    }
    case 'meridiem': {
      const text = fields.hour < 12 ? 'am' : 'pm';
      return element.isUpper ? text.toUpperCase() : text;
    }
    case 'fraction':
      return fractionText(element, fields.millisecond);
    case 'zone':
      return zoneText(element, time);
  }
}

function numberAt(of: NumberElement['of'], { ms }: ZonedTime, fields: Fields): number {
  switch (of) {
    case 'century':
      return Math.trunc(fields.year / 100);
    case 'short year':
      return fields.year % 100;
    case 'hour12':
      return fields.hour % 12 === 0 ? 12 : fields.hour % 12;
    case 'epoch':
      return Math.floor(ms / 1000);
    default:
      return fields[of];
  }
}

function numberText({ width, pad }: NumberElement, value: number): string {
  const sign = value < 0 ? '-' : '';
  const digits = String(Math.abs(value));
  if (pad === 'none') return sign + digits;
  return pad === 'space' ? (sign + digits).padStart(width, ' ') : sign + digits.padStart(width, '0');
}

function fractionText({ digits, isTrimmed, hasPoint }: FractionElement, millisecond: number): string {
  const all = String(millisecond).padStart(3, '0').padEnd(digits, '0').slice(0, digits);
  const fraction = isTrimmed ? all.replace(/0+$/, '') : all;
  return hasPoint ? (fraction === '' ? '' : `.${fraction}`) : fraction;
}

function zoneText({ style, hasColon, isZulu }: ZoneElement, time: ZonedTime): string {
  if (style === 'name') return zoneLabel(time);
  const minutes = offsetMinutes(time.zone, time.ms);
  if (isZulu && minutes === 0) return 'Z';
  const sign = minutes < 0 ? '-' : '+';
  const hours = twoDigits(Math.floor(Math.abs(minutes) / 60));
  if (style === 'hours') return sign + hours;
  return `${sign}${hours}${hasColon ? ':' : ''}${twoDigits(Math.abs(minutes) % 60)}`;
}
