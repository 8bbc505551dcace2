// Points in time with a time zone.

/** A fixed offset from UTC, or a zone with daylight saving time. */
export type Zone =
  | { readonly kind: 'fixed'; readonly minutes: number; readonly label: string }
  | { readonly kind: 'named'; readonly name: string; readonly format: Intl.DateTimeFormat };

export const utc: Zone = { kind: 'fixed', minutes: 0, label: 'UTC' };

export interface ZonedTime {
  /** Whole milliseconds since 1970. */
  readonly ms: number;
  readonly zone: Zone;
}

export interface Fields {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly millisecond: number;
}

export const dayMs = 86_400_000;

/** The range of a JavaScript `Date`, in milliseconds since 1970. */
const msMax = 8.64e15;

/** False: the result is NULL. A day less than `Date` has, so that the local time of every zone is in its range, too. */
export function isDate(ms: number): boolean {
  return Math.abs(ms) <= msMax - dayMs;
}

export function fixedZone(minutes: number): Zone {
  const sign = minutes < 0 ? '-' : '+';
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return { kind: 'fixed', minutes, label: `${sign}${twoDigits(hours)}${twoDigits(rest)}` };
}

export function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}

/** The zone of an IANA name, or undefined. */
export function zoneNamed(name: string): Zone | undefined {
  if (name === 'UTC' || name === '') return utc;
  // Offsets are not accepted as names.
  if (!/^[A-Za-z][\w+/-]*$/.test(name)) return undefined;
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
    return { kind: 'named', name, format };
  } catch {
    return undefined;
  }
}

/** Minutes that the zone is ahead of UTC at this time. */
export function offsetMinutes(zone: Zone, ms: number): number {
  if (zone.kind === 'fixed') return zone.minutes;
  const text = zone.format.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const match = /([+-])(\d\d):(\d\d)/.exec(text);
  if (match === null) return 0;
  const minutes = Number(match[2]) * 60 + Number(match[3]);
  return match[1] === '-' ? -minutes : minutes;
}

/** The abbreviation that stands for the zone: `UTC`, `PST`, `+0530`. */
export function zoneLabel({ zone, ms }: ZonedTime): string {
  if (zone.kind === 'fixed') return zone.label;
  const short = new Intl.DateTimeFormat('en-US', { timeZone: zone.name, timeZoneName: 'short' });
  const label = short.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? zone.name;
  return label.startsWith('GMT') && label !== 'GMT' ? offsetAbbreviation(offsetMinutes(zone, ms)) : label;
}

/** The abbreviation of a named zone that has no letters, as in the time zone database: `-03`, `+0530`. */
function offsetAbbreviation(minutes: number): string {
  const zone = fixedZone(minutes);
  return zone.kind === 'fixed' ? zone.label.replace(/00$/, '') : '';
}

export function fieldsOf({ ms, zone }: ZonedTime): Fields {
  const local = new Date(ms + offsetMinutes(zone, ms) * 60_000);
  return {
    year: local.getUTCFullYear(),
    month: local.getUTCMonth() + 1,
    day: local.getUTCDate(),
    hour: local.getUTCHours(),
    minute: local.getUTCMinutes(),
    second: local.getUTCSeconds(),
    millisecond: local.getUTCMilliseconds(),
  };
}

/** Fields beyond their ranges overflow: 31 February is 3 March. `ms` is NaN beyond the range of dates. */
export function zonedTimeOf(fields: Fields, zone: Zone): ZonedTime {
  const { year, month, day, hour, minute, second, millisecond } = fields;
  // Not Date.UTC, which maps years below 100 to 1900 and later.
  const local = new Date(0);
  local.setUTCFullYear(year, month - 1, day);
  local.setUTCHours(hour, minute, second, millisecond);
  const localMs = local.getTime();
  if (!isDate(localMs)) return { ms: Number.NaN, zone };
  const guess = localMs - offsetMinutes(zone, localMs) * 60_000;
  return { ms: localMs - offsetMinutes(zone, guess) * 60_000, zone };
}

/** 0: Sunday. */
export function weekdayOf({ ms, zone }: ZonedTime): number {
  return new Date(ms + offsetMinutes(zone, ms) * 60_000).getUTCDay();
}

/** 1: the first of January. */
export function dayOfYear(time: ZonedTime): number {
  const { year, month, day } = fieldsOf(time);
  const dayStartMs = (ofYear: number, ofMonth: number, ofDay: number): number =>
    zonedTimeOf(
      { year: ofYear, month: ofMonth, day: ofDay, hour: 0, minute: 0, second: 0, millisecond: 0 },
      utc,
    ).ms;
  return (dayStartMs(year, month, day) - dayStartMs(year, 1, 1)) / dayMs + 1;
}

function isLeapYear(year: number): boolean {
  return year % 400 === 0 || (year % 4 === 0 && year % 100 !== 0);
}

export function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}
