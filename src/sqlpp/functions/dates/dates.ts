// Functions of dates, as milliseconds since 1970 and as texts. A text that is not a date gives NULL.
import { sqlError } from '../../errors/sql-error.ts';
import { integerOf, integerValue } from '../../values/arithmetic.ts';
import { isNumber } from '../../values/types.ts';
import type { Value } from '../../values/value.ts';
import type { EvaluationContext } from '../context.ts';
import { Declarations, type Implementation, type Memo } from '../declaration.ts';
import { repeatMax } from '../strings.ts';
import { readDuration, writeDuration } from './durations.ts';
import { weekdays } from './names.ts';
import { addToDate, dateDifference, datePart, truncateDate } from './parts.ts';
import { dateReader, readDate, readKnown } from './read.ts';
import { dateWriter, writeDate, writeLayout } from './write.ts';
import { isDate, utc, weekdayOf, type Zone, type ZonedTime, zoneNamed } from './zoned-time.ts';

/** What a call keeps while the names of its zone and its format stay the same. */
interface Kept {
  zoneName?: string;
  zone?: Zone | undefined;
  written?: string;
  write?: (time: ZonedTime) => string;
  read?: { readonly format: string; readonly local: Zone; readonly by: ReturnType<typeof dateReader> };
}

const keptIn = (memo: Memo): Kept => (memo.value ??= {}) as Kept;

function zoneOf(name: string, memo: Memo): Zone | undefined {
  const kept = keptIn(memo);
  if (kept.zoneName !== name) {
    kept.zone = zoneNamed(name);
    kept.zoneName = name;
  }
  return kept.zone;
}

function written(time: ZonedTime, format: string, memo: Memo): string {
  const kept = keptIn(memo);
  if (kept.write === undefined || kept.written !== format) {
    kept.write = dateWriter(format);
    kept.written = format;
  }
  return kept.write(time);
}

function readBy(text: string, format: string, local: Zone, memo: Memo): ZonedTime | undefined {
  const kept = keptIn(memo);
  if (kept.read?.format !== format || kept.read.local !== local)
    kept.read = { format, local, by: dateReader(format, local) };
  return kept.read.by(text);
}

const localZones = new WeakMap<EvaluationContext, Zone>();

function local(context: EvaluationContext): Zone {
  if (context.timeZone === 'UTC') return utc;
  const cached = localZones.get(context);
  if (cached !== undefined) return cached;
  const zone = zoneNamed(context.timeZone) ?? utc;
  localZones.set(context, zone);
  return zone;
}

function atMillis(value: Value, zone: Zone): ZonedTime | undefined {
  if (!isNumber(value)) return undefined;
  const ms = Math.floor(Number(value));
  return isDate(ms) ? { ms, zone } : undefined;
}

type ZoneFrom = (context: EvaluationContext) => Zone;
const inUtc: ZoneFrom = () => utc;

/** An example of the text's layout, which `writeDate` takes as a format. */
function exampleOf(text: string): string {
  return text.replaceAll(/\d/g, '1');
}

// ---------- now

const clock = ({ clockMs }: EvaluationContext): number => Math.floor(clockMs());
const started = ({ startedMs }: EvaluationContext): number => Math.floor(startedMs);

const timeText =
  (timeMsOf: (context: EvaluationContext) => number, zone: ZoneFrom): Implementation =>
  ([format = ''], context, memo) =>
    typeof format === 'string' ? written({ ms: timeMsOf(context), zone: zone(context) }, format, memo) : null;

const timeInZone =
  (timeMsOf: (context: EvaluationContext) => number): Implementation =>
  ([name, format = ''], context, memo) => {
    if (typeof name !== 'string' || typeof format !== 'string') return null;
    const zone = zoneOf(name, memo);
    return zone === undefined ? null : written({ ms: timeMsOf(context), zone }, format, memo);
  };

// ---------- milliseconds

const millisToText =
  (zone: ZoneFrom): Implementation =>
  ([millis, format = ''], context, memo) => {
    const time = atMillis(millis, zone(context));
    return time === undefined || typeof format !== 'string' ? null : written(time, format, memo);
  };

const millisToZone: Implementation = ([millis, name, format = ''], _, memo) => {
  if (typeof name !== 'string' || typeof format !== 'string') return null;
  const zone = zoneOf(name, memo);
  const time = zone === undefined ? undefined : atMillis(millis, zone);
  return time === undefined ? null : written(time, format, memo);
};

/** In a zone that the last argument may name. */
const ofMillis =
  (compute: (time: ZonedTime, part: string) => Value, hasPart: boolean): Implementation =>
  (values, context, memo) => {
    const [part, name] = hasPart ? [values[1], values[2]] : ['', values[1]];
    const zone =
      name === undefined ? local(context) : typeof name === 'string' ? zoneOf(name, memo) : undefined;
    const time = zone === undefined ? undefined : atMillis(values[0], zone);
    return time === undefined || typeof part !== 'string' ? null : compute(time, part);
  };

const weekday = (time: ZonedTime): string => weekdays[weekdayOf(time)] as string;

// ---------- texts

const ofText =
  (compute: (time: ZonedTime, other: string, memo: Memo) => Value): Implementation =>
  ([text, other = ''], context, memo) => {
    if (typeof text !== 'string' || typeof other !== 'string') return null;
    const time = readDate(text, '', local(context));
    return time === undefined ? null : compute(time, other, memo);
  };

const textToMillis: Implementation = ([text, format = ''], context, memo) => {
  if (typeof text !== 'string' || typeof format !== 'string') return null;
  return readBy(text, format, local(context), memo)?.ms ?? null;
};

function inZone([text, format]: readonly Value[], zone: Zone, context: EvaluationContext, memo: Memo): Value {
  if (typeof text !== 'string' || (format !== undefined && typeof format !== 'string')) return null;
  const time = readBy(text, format ?? '', local(context), memo);
  return time === undefined ? null : written({ ms: time.ms, zone }, format ?? exampleOf(text), memo);
}

const textToUtc: Implementation = (values, context, memo) => inZone(values, utc, context, memo);

const textToZone: Implementation = ([text, name, format], context, memo) => {
  const zone = typeof name === 'string' ? zoneOf(name, memo) : undefined;
  return zone === undefined ? null : inZone([text, format], zone, context, memo);
};

/** Computes without the zone of the text and appends it again. */
const truncateText: Implementation = ([text, part]) => {
  if (typeof text !== 'string' || typeof part !== 'string') return null;
  const found = readKnown(text, utc);
  const zoneAt = found?.layout.includes('Z')
    ? Math.max(text.lastIndexOf('Z'), text.lastIndexOf('+'), text.lastIndexOf('-'))
    : -1;
  const zone = zoneAt > 0 ? text.slice(zoneAt) : '';
  const bare = text.slice(0, text.length - zone.length);
  const time = readKnown(bare, utc)?.time;
  return time === undefined ? null : writeDate(truncateDate(time, part), exampleOf(bare)) + zone;
};

// ---------- adding and differences

const isInteger = (value: Value): value is number => typeof value === 'number' && Number.isInteger(value);

const addToMillis: Implementation = ([millis, count, part], context) => {
  const time = atMillis(millis, local(context));
  if (time === undefined || !isInteger(count) || typeof part !== 'string') return null;
  return addToDate(time, count, part)?.ms ?? null;
};

const addToText: Implementation = ([text, count, part], context) => {
  if (typeof text !== 'string' || !isInteger(count) || typeof part !== 'string') return null;
  const found = readKnown(text, local(context));
  const added = found && addToDate(found.time, count, part);
  return added === undefined ? null : writeLayout(added, found?.layout ?? '');
};

type TimeFrom = (value: Value, context: EvaluationContext) => ZonedTime | undefined;
const fromMillis: TimeFrom = (value, context) => atMillis(value, local(context));
const fromText: TimeFrom = (value, context) =>
  typeof value === 'string' ? readKnown(value, local(context))?.time : undefined;

const difference =
  (from: TimeFrom, isAbsolute: boolean): Implementation =>
  ([first, second, part], context) => {
    const [a, b] = [from(first, context), from(second, context)];
    if (a === undefined || b === undefined || typeof part !== 'string') return null;
    const found = dateDifference(a, b, part);
    return isAbsolute ? Math.abs(found) : found;
  };

/** Dates from the first to before the second, `step` parts apart. */
function range(
  name: string,
  from: TimeFrom,
  showLike: (first: Value, context: EvaluationContext) => (time: ZonedTime) => Value,
): Implementation {
  return ([first, second, part, step = 1], context) => {
    const [start, end] = [from(first, context), from(second, context)];
    if (start === undefined || end === undefined || typeof part !== 'string' || !isInteger(step)) return null;
    if (start.ms === end.ms || start.ms > end.ms !== step < 0) return [];
    if (Math.abs(dateDifference(start, end, part)) > repeatMax) throw sqlError(5035, `${name}()`);
    const items: Value[] = [];
    const show = showLike(first, context);
    const isCalendar = part.toLowerCase() === 'calendar_month';
    for (
      let at: ZonedTime | undefined = start;
      at !== undefined && step !== 0 && (step > 0 ? at.ms < end.ms : at.ms > end.ms);
    ) {
      items.push(show(at));
      if (items.length > repeatMax) throw sqlError(5035, `${name}()`);
      at = isCalendar ? addToDate(start, step * items.length, part) : addToDate(at, step, part);
    }
    return items;
  };
}

function inLayoutOf(first: Value, context: EvaluationContext): (time: ZonedTime) => Value {
  const layout = readKnown(first as string, local(context))?.layout ?? '';
  return (time) => writeLayout(time, layout);
}

// ---------- durations

const durationToText: Implementation = ([ns]) => {
  if (!isNumber(ns) || (typeof ns === 'number' && !Number.isFinite(ns))) return null;
  return writeDuration(integerOf(typeof ns === 'number' ? Math.trunc(ns) : ns) ?? 0n);
};

const textToDuration: Implementation = ([text]) => {
  const ns = typeof text === 'string' ? readDuration(text) : undefined;
  return ns === undefined ? null : integerValue(ns);
};

const perCall = { varies: 'between calls' } as const;
const perRequest = { varies: 'between requests' } as const;
const synonyms = (...list: string[]): { synonyms: string[] } => ({ synonyms: list });

export const dates = new Declarations('date')
  .add(
    'clock_millis',
    '',
    'The time now in milliseconds since 1970.',
    (_, context) => context.clockMs(),
    perCall,
  )
  .add('clock_str', '[format]', 'The time now.', timeText(clock, local), {
    ...perCall,
    ...synonyms('clock_local'),
  })
  .add('clock_tz', 'zone [, format]', 'The time now in a zone.', timeInZone(clock), perCall)
  .add('clock_utc', '[format]', 'The time now in UTC.', timeText(clock, inUtc), perCall)
  .add(
    'now_millis',
    '',
    'Milliseconds since 1970 when the request arrived.',
    (_, context) => context.startedMs,
    perRequest,
  )
  .add('now_str', '[format]', 'The time when the request arrived.', timeText(started, local), {
    ...perRequest,
    ...synonyms('now_local'),
  })
  .add(
    'now_tz',
    'zone [, format]',
    'The time when the request arrived, in a zone.',
    timeInZone(started),
    perRequest,
  )
  .add(
    'now_utc',
    '[format]',
    'The time when the request arrived, in UTC.',
    timeText(started, inUtc),
    perRequest,
  )
  .add('date_add_millis', 'millis, count, part', 'The date plus a number of parts.', addToMillis)
  .add('date_add_str', 'date, count, part', 'The date plus a number of parts.', addToText)
  .add(
    'date_diff_millis',
    'millis, millis, part',
    'How many parts the first date is later than the second.',
    difference(fromMillis, false),
  )
  .add(
    'date_diff_str',
    'date, date, part',
    'How many parts the first date is later than the second.',
    difference(fromText, false),
  )
  .add(
    'date_diff_abs_millis',
    'millis, millis, part',
    'How many parts two dates are apart.',
    difference(fromMillis, true),
  )
  .add(
    'date_diff_abs_str',
    'date, date, part',
    'How many parts two dates are apart.',
    difference(fromText, true),
  )
  .add('date_format_str', 'date, format', 'The date in another format.', ofText(written))
  .add(
    'date_part_millis',
    'millis, part [, zone]',
    'A part of the date as a number.',
    ofMillis(datePart, true),
  )
  .add(
    'date_part_str',
    'date, part',
    'A part of the date as a number.',
    ofText((time, part) => datePart(time, part)),
  )
  .add(
    'date_range_millis',
    'millis, end, part [, step]',
    'The dates from the first to before the end.',
    range(
      'DATE_RANGE_MILLIS',
      fromMillis,
      () =>
        ({ ms }) =>
          ms,
    ),
  )
  .add(
    'date_range_str',
    'date, end, part [, step]',
    'The dates from the first to before the end.',
    range('DATE_RANGE_STR', fromText, inLayoutOf),
  )
  .add(
    'date_trunc_millis',
    'millis, part',
    'The date truncated to a part.',
    ofMillis((time, part) => truncateDate(time, part).ms, true),
  )
  .add('date_trunc_str', 'date, part', 'The date truncated to a part.', truncateText)
  .add(
    'millis_to_str',
    'millis [, format]',
    'The date as text.',
    millisToText(local),
    synonyms('millis_to_local'),
  )
  .add('millis_to_utc', 'millis [, format]', 'The date as text in UTC.', millisToText(inUtc))
  .add(
    'millis_to_tz',
    'millis, zone [, format]',
    'The date as text in a zone.',
    millisToZone,
    synonyms('millis_to_zone_name'),
  )
  .add('str_to_millis', 'date [, format]', 'Milliseconds since 1970.', textToMillis, synonyms('millis'))
  .add('str_to_utc', 'date [, format]', 'The date in UTC.', textToUtc)
  .add('str_to_tz', 'date, zone [, format]', 'The date in a zone.', textToZone, synonyms('str_to_zone_name'))
  .add('weekday_millis', 'millis [, zone]', 'The name of the day of the week.', ofMillis(weekday, false))
  .add('weekday_str', 'date', 'The name of the day of the week.', ofText(weekday))
  .add('duration_to_str', 'nanoseconds', 'The duration as text: `1h15m0s`.', durationToText)
  .add('str_to_duration', 'duration', 'The nanoseconds of a duration.', textToDuration);
