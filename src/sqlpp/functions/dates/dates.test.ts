import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { readDuration, writeDuration } from './durations.ts';
import { addToDate, dateDifference, datePart, truncateDate } from './parts.ts';
import { readDate } from './read.ts';
import { writeDate } from './write.ts';
import { fieldsOf, utc, zonedTimeOf, zoneNamed } from './zoned-time.ts';

const dateOf = (text: string): NonNullable<ReturnType<typeof readDate>> => {
  const time = readDate(text, '', utc);
  assert.ok(time, text);
  return time;
};

test('a text without a format is parsed in the known layouts only', () => {
  const cases: [string, string | undefined][] = [
    ['2026-11-22T12:30:15.250Z', '2026-11-22T12:30:15.250Z'],
    ['2026-11-22T12:30:15+05:30', '2026-11-22T07:00:15.000Z'],
    ['2026-11-22 12:30:15.5', '2026-11-22T12:30:15.500Z'],
    ['2026-11-22', '2026-11-22T00:00:00.000Z'],
    ['12:30:15', '0000-01-01T12:30:15.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2023-02-29', undefined],
    ['2026-13-01', undefined],
    ['2026-11-22T24:00:00', undefined],
    ['22.11.2026', undefined],
    ['', undefined],
    ['2026-11-22x', undefined],
  ];
  for (const [text, expected] of cases) {
    const time = readDate(text, '', utc);
    assert.equal(time === undefined ? undefined : new Date(time.ms).toISOString(), expected, text);
  }
});

test('a date is formatted in every style of formats', () => {
  const time = dateOf('2026-11-22T15:04:05.25Z');
  const cases: [string, string][] = [
    ['', '2026-11-22T15:04:05.25Z'],
    ['1111-11-11', '2026-11-22'],
    ['1111-11-11T00:00:00+00:00', '2026-11-22T15:04:05Z'],
    ['Mon Jan _2 15:04:05 2006', 'Sun Nov 22 15:04:05 2026'],
    ['2006-01-02 03:04PM', '2026-11-22 03:04PM'],
    ['02 Jan 06 15:04:05.000', '22 Nov 26 15:04:05.250'],
    ['%Y-%m-%d %H:%M:%S.%n %z', '2026-11-22 15:04:05.250 +0000'],
    ['%-d%f %B %y, %I %p', '22nd November 26, 03 PM'],
    ['YYYY-MM-DD hh:mm:ss.s TZD', '2026-11-22 15:04:05.250 Z'],
    ['%Q', "!(Unknown format: 'Q')"],
  ];
  for (const [format, expected] of cases) assert.equal(writeDate(time, format), expected, format);
  assert.equal(
    writeDate({ ms: time.ms, zone: zoneNamed('America/New_York') ?? utc }, ''),
    '2026-11-22T10:04:05.25-05:00',
  );
});

test('a date with a fraction and Z as the format writes the minutes of an offset', () => {
  const zone = zoneNamed('Asia/Kolkata') ?? utc;
  const cases: [string, string][] = [
    ['2026-11-22T15:04:05.250Z', '2026-11-22T20:34:05.25+0530'],
    ['2026-11-22T15:04:05.123456Z', '2026-11-22T20:34:05.25+0530'],
    ['2026-11-22T15:04:05.250+00:00', '2026-11-22T20:34:05.25+05:30'],
    ['2026-11-22 15:04:05.250', '2026-11-22 20:34:05.25'],
    ['2026-11-22T15:04:05+01:00', '2026-11-22T20:34:05+05:30'],
  ];
  const { ms } = dateOf('2026-11-22T15:04:05.25Z');
  for (const [example, expected] of cases) assert.equal(writeDate({ ms, zone }, example), expected, example);
});

test('a formatted date parses to the same date', () => {
  const formats = [
    '',
    '2006-01-02T15:04:05.000Z07:00',
    '%Y-%m-%dT%T.%n%z',
    'YYYY-MM-DD hh:mm:ss.s TZD',
    '%s',
  ];
  fc.assert(
    fc.property(
      fc.date({ min: new Date('0001-01-01'), max: new Date('9999-01-01'), noInvalidDate: true }),
      fc.constantFrom(...formats),
      (date, format) => {
        const ms = format === '%s' ? Math.floor(date.getTime() / 1000) * 1000 : date.getTime();
        if (format === '%s' && ms < 0) return;
        assert.equal(readDate(writeDate({ ms, zone: utc }, format), format, utc)?.ms, ms, format);
      },
    ),
  );
});

test('each part of a date is extracted; an unknown part is refused', () => {
  const time = dateOf('2021-01-03T04:05:06.789Z');
  const parts: [string, number][] = [
    ['millennium', 3],
    ['century', 21],
    ['decade', 202],
    ['year', 2021],
    ['quarter', 1],
    ['month', 1],
    ['day', 3],
    ['hour', 4],
    ['minute', 5],
    ['second', 6],
    ['millisecond', 789],
    ['week', 1],
    ['doy', 3],
    ['dow', 0],
    ['iso_dow', 7],
    ['iso_week', 53],
    ['iso_year', 2020],
    ['timezone', 0],
  ];
  for (const [part, expected] of parts) assert.equal(datePart(time, part), expected, part);
  assert.equal(datePart(dateOf('2021-01-03T00:00:00+05:30'), 'timezone_minute'), 30);
  for (const part of ['fortnight', 'constructor']) {
    assert.throws(() => datePart(time, part), new RegExp(`Unsupported date part ${part}`));
    assert.throws(() => addToDate(time, 1, part), new RegExp(`Unsupported date add part ${part}`));
    assert.throws(() => truncateDate(time, part), new RegExp(`Unsupported date trunc part ${part}`));
  }
});

test('adding months overflows into the next, adding calendar months stops at the last day', () => {
  const added = (text: string, count: number, part: string): string | undefined => {
    const result = addToDate(dateOf(text), count, part);
    return result && new Date(result.ms).toISOString().slice(0, 10);
  };
  assert.equal(added('2021-01-31', 1, 'month'), '2021-03-03');
  assert.equal(added('2021-01-31', 1, 'calendar_month'), '2021-02-28');
  assert.equal(added('2021-02-28', 1, 'calendar_month'), '2021-03-31');
  assert.equal(added('2021-01-15', -2, 'calendar_month'), '2020-11-15');
  assert.equal(added('2021-01-15', 1, 'quarter'), '2021-04-15');
  assert.equal(added('2021-01-15', -1, 'week'), '2021-01-08');
  assert.equal(added('2021-01-15', 1e9, 'year'), undefined);
  assert.equal(added('2021-01-15', 273_745, 'year'), undefined);
  const berlin = { ms: 0, zone: zoneNamed('Europe/Berlin') ?? utc };
  assert.equal(addToDate(berlin, 1e9, 'year'), undefined);
});

test('truncation and differences work for every part', () => {
  const truncated = (part: string): string =>
    new Date(truncateDate(dateOf('2021-08-18T14:05:06Z'), part).ms).toISOString().slice(0, 16);
  assert.equal(truncated('century'), '2000-01-01T00:00');
  assert.equal(truncated('quarter'), '2021-07-01T00:00');
  assert.equal(truncated('month'), '2021-08-01T00:00');
  assert.equal(truncated('week'), '2021-08-15T00:00');
  assert.equal(truncated('iso_week'), '2021-08-16T00:00');
  assert.equal(truncated('hour'), '2021-08-18T14:00');
  const difference = (first: string, second: string, part: string): number =>
    dateDifference(dateOf(first), dateOf(second), part);
  assert.equal(difference('2021-03-01', '2020-03-01', 'day'), 365);
  assert.equal(difference('2020-03-01', '2021-03-01', 'day'), -365);
  assert.equal(difference('2021-03-01', '2020-02-01', 'day'), 394);
  assert.equal(difference('2021-03-01', '2020-12-31', 'month'), 3);
  assert.equal(difference('2021-03-01T01:00:00', '2021-02-28T23:00:00', 'hour'), 2);
});

test('fields convert back to their time in zones with daylight saving time', () => {
  const zone = zoneNamed('Europe/Berlin') ?? utc;
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4e12 }), (ms) => {
      const fields = fieldsOf({ ms, zone });
      const back = zonedTimeOf(fields, zone).ms;
      // The repeated hour has the same fields twice.
      assert.ok(back === ms || Math.abs(back - ms) === 3_600_000);
    }),
  );
  assert.equal(zoneNamed('Mars/Olympus'), undefined);
  assert.equal(zoneNamed('+05:00'), undefined);
});

test('a formatted duration parses to the same duration; other texts are refused', () => {
  assert.equal(writeDuration(4_530_918_273_645n), '1h15m30.918273645s');
  assert.equal(writeDuration(0n), '0s');
  assert.equal(writeDuration(-1500n), '-1.5µs');
  assert.equal(readDuration('1h15m30.918273645s'), 4_530_918_273_645n);
  assert.equal(readDuration('1.5'), undefined);
  assert.equal(readDuration('9999999999h'), undefined);
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }), (ns) => {
      assert.equal(readDuration(writeDuration(ns)), ns);
    }),
  );
});
