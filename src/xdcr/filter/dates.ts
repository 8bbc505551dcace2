// Times of `DATE()`, in nanoseconds since 1970: in the form of RFC 3339, or as a year, a month or a day in UTC, a day optionally with a time of day.

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:\d\d)$/i;
const shortForm = /^((?:19|20)\d\d)(?:([-/. ])(\d\d)(?:\2(\d\d)(?: (\d\d):(\d\d):(\d\d))?)?)?$/;
const charactersMax = 40;
const nanosecondsPerMs = 1_000_000n;

/** Undefined: the text is no time. */
export function readTime(text: string): bigint | undefined {
  if (text.length > charactersMax) return undefined;
  const rfcParts = rfc3339.exec(text);
  if (rfcParts !== null) {
    const [, year, month, day, hour, minute, second = '0', fraction = '', zone = 'Z'] = rfcParts;
    const utcMs = utcMsOf([year, month, day, hour, minute, second]);
    const offsetMinutes = offsetMinutesOf(zone);
    if (utcMs === undefined || offsetMinutes === undefined) return undefined;
    return BigInt(utcMs - offsetMinutes * 60_000) * nanosecondsPerMs + BigInt(fraction.padEnd(9, '0'));
  }
  const parts = shortForm.exec(text);
  if (parts === null) return undefined;
  const [, year, , month = '1', day = '1', hour = '0', minute = '0', second = '0'] = parts;
  const utcMs = utcMsOf([year, month, day, hour, minute, second]);
  return utcMs === undefined ? undefined : BigInt(utcMs) * nanosecondsPerMs;
}

function utcMsOf(texts: readonly (string | undefined)[]): number | undefined {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = texts.map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  const isSame = date.getUTCMonth() === month - 1 && date.getUTCDate() === day && date.getUTCHours() === hour;
  return isSame && minute < 60 && second < 60 ? date.getTime() : undefined;
}

function offsetMinutesOf(zone: string): number | undefined {
  if (zone.toUpperCase() === 'Z') return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(4));
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}
