// Parts of dates: extraction, addition, truncation and differences.
import { sqlError } from '../../errors/sql-error.ts';
import {
  dayMs,
  dayOfYear,
  daysInMonth,
  fieldsOf,
  isDate,
  offsetMinutes,
  weekdayOf,
  type ZonedTime,
  zonedTimeOf,
} from './zoned-time.ts';

function unsupported(what: string, part: string): Error {
  return sqlError(5010, `expression: Unsupported date ${what}part ${part}.`);
}

export function datePart(time: ZonedTime, part: string): number {
  const fields = fieldsOf(time);
  switch (part.toLowerCase()) {
    case 'millennium':
      return Math.trunc(fields.year / 1000) + 1;
    case 'century':
      return Math.trunc(fields.year / 100) + 1;
    case 'decade':
      return Math.trunc(fields.year / 10);
    case 'year':
      return fields.year;
    case 'quarter':
      return quarterOf(fields.month);
    case 'calendar_month':
    case 'month':
      return fields.month;
    case 'day':
      return fields.day;
    case 'hour':
      return fields.hour;
    case 'minute':
      return fields.minute;
    case 'second':
      return fields.second;
    case 'millisecond':
      return fields.millisecond;
    default:
      return rarePart(time, part);
  }
}

function rarePart(time: ZonedTime, part: string): number {
  switch (part.toLowerCase()) {
    case 'week':
      return Math.ceil(dayOfYear(time) / 7);
    case 'day_of_year':
    case 'doy':
      return dayOfYear(time);
    case 'day_of_week':
    case 'dow':
      return weekdayOf(time);
    case 'iso_dow':
      return isoWeekday(time);
    case 'iso_week':
      return isoWeek(time).week;
    case 'iso_year':
      return isoWeek(time).year;
    case 'timezone':
      return offsetMinutes(time.zone, time.ms) * 60;
    case 'timezone_hour':
      return Math.trunc(offsetMinutes(time.zone, time.ms) / 60);
    case 'timezone_minute':
      return offsetMinutes(time.zone, time.ms) % 60;
    default:
      throw unsupported('', part);
  }
}

function quarterOf(month: number): number {
  return Math.trunc((month + 2) / 3);
}

function isoWeekday(time: ZonedTime): number {
  return weekdayOf(time) || 7;
}

/** A week belongs to the year that contains its Thursday (ISO 8601). */
function isoWeek(time: ZonedTime): { week: number; year: number } {
  const thursday = { ms: time.ms + (4 - isoWeekday(time)) * dayMs, zone: time.zone };
  return { week: Math.trunc((dayOfYear(thursday) - 1) / 7) + 1, year: fieldsOf(thursday).year };
}

const monthsOf: ReadonlyMap<string, number> = new Map([
  ['millennium', 12_000],
  ['century', 1200],
  ['decade', 120],
  ['year', 12],
  ['quarter', 3],
  ['month', 1],
]);

const msOf: ReadonlyMap<string, number> = new Map([
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
  ['millisecond', 1],
]);

/** undefined beyond the range of dates. */
export function addToDate(time: ZonedTime, count: number, part: string): ZonedTime | undefined {
  const name = part.toLowerCase();
  const months = monthsOf.get(name);
  const ms = msOf.get(name);
  const added =
    months !== undefined
      ? addMonthsAndDays(time, count * months, 0)
      : ms !== undefined
        ? { ms: time.ms + count * ms, zone: time.zone }
        : name === 'week' || name === 'day'
          ? addMonthsAndDays(time, 0, name === 'week' ? count * 7 : count)
          : name === 'calendar_month'
            ? addCalendarMonths(time, count)
            : undefined;
  if (added === undefined) throw unsupported('add ', part);
  return isDate(added.ms) ? added : undefined;
}

function addMonthsAndDays(time: ZonedTime, months: number, days: number): ZonedTime {
  const fields = fieldsOf(time);
  return zonedTimeOf({ ...fields, month: fields.month + months, day: fields.day + days }, time.zone);
}

/** Adds months; the last day of a month stays the last day, and days do not overflow. */
function addCalendarMonths(time: ZonedTime, count: number): ZonedTime {
  if (count === 0) return time;
  const fields = fieldsOf(time);
  const total = fields.year * 12 + fields.month - 1 + count;
  const [year, month] = [Math.floor(total / 12), (((total % 12) + 12) % 12) + 1];
  const isLast = fields.day === daysInMonth(fields.year, fields.month);
  const last = daysInMonth(year, month);
  return zonedTimeOf({ ...fields, year, month, day: isLast ? last : Math.min(fields.day, last) }, time.zone);
}

export function truncateDate(time: ZonedTime, part: string): ZonedTime {
  const name = part.toLowerCase();
  const day = cut(time, dayMs);
  const { year, month, day: dayOfMonth } = fieldsOf(day);
  const toMonth = (months: number): ZonedTime => addMonthsAndDays(day, -months, 1 - dayOfMonth);
  switch (name) {
    case 'millennium':
      return toMonth((year % 1000) * 12 + month - 1);
    case 'century':
      return toMonth((year % 100) * 12 + month - 1);
    case 'decade':
      return toMonth((year % 10) * 12 + month - 1);
    case 'year':
      return toMonth(month - 1);
    case 'quarter':
      return toMonth((month - 1) % 3);
    case 'calendar_month':
    case 'month':
      return toMonth(0);
    case 'week':
      return addMonthsAndDays(day, 0, -weekdayOf(day));
    case 'iso_week':
      return addMonthsAndDays(day, 0, 1 - isoWeekday(day));
    case 'day':
      return day;
  }
  const ms = msOf.get(name);
  if (ms === undefined) throw unsupported('trunc ', part);
  return cut(time, ms);
}

/** Truncates to a multiple of `unit` milliseconds since 1970: in zones other than UTC, days do not begin at midnight. */
function cut({ ms, zone }: ZonedTime, unit: number): ZonedTime {
  return { ms: Math.floor(ms / unit) * unit, zone };
}

/** The difference of the first date minus the second. */
export function dateDifference(first: ZonedTime, second: ZonedTime, part: string): number {
  const sign = first.ms < second.ms ? -1 : 1;
  const [later, earlier] = sign < 0 ? [second, first] : [first, second];
  const difference = partsBetween(later, earlier, part) * sign;
  return difference === 0 ? 0 : difference; // never -0
}

function partsBetween(later: ZonedTime, earlier: ZonedTime, part: string): number {
  const [a, b] = [fieldsOf(later), fieldsOf(earlier)];
  const years = a.year - b.year;
  const days = (): number =>
    years * 365 +
    dayOfYear(later) -
    dayOfYear(earlier) +
    (years === 0 ? 0 : leapYearsBefore(a.year) - leapYearsBefore(b.year));
  const hours = (): number => days() * 24 + a.hour - b.hour;
  const minutes = (): number => hours() * 60 + a.minute - b.minute;
  const seconds = (): number => minutes() * 60 + a.second - b.second;
  switch (part.toLowerCase()) {
    case 'millisecond':
      return seconds() * 1000 + a.millisecond - b.millisecond;
    case 'second':
      return seconds();
    case 'minute':
      return minutes();
    case 'hour':
      return hours();
    case 'day':
      return days();
    case 'week':
      return Math.trunc(days() / 7);
    case 'calendar_month':
    case 'month':
      return Math.abs(years * 12 + a.month - b.month);
    case 'quarter':
      return Math.abs(years * 4 + quarterOf(a.month) - quarterOf(b.month));
    case 'year':
      return years;
    case 'decade':
      return Math.trunc(years / 10);
    case 'century':
      return Math.trunc(years / 100);
    case 'millennium':
      return Math.trunc(years / 1000);
    default:
      throw unsupported('diff ', part);
  }
}

function leapYearsBefore(year: number): number {
  const before = year > 0 ? year - 1 : year + 1;
  return Math.trunc(before / 4) - Math.trunc(before / 100) + Math.trunc(before / 400);
}
