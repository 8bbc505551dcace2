// Parses and formats durations in the notation of Go's time package: `1m15s`, `75000ms`, `1.5h`, `0`.

/** The two units that look like `µs` begin with the micro sign and with the Greek letter. */
const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

const part = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y;
/** About 292 years, the maximum of nanoseconds in 64 bits. */
const longestMs = 9_223_372_036_854;

/** Milliseconds, possibly negative; null when the text is not a duration. Only 0 needs no unit. */
export function parseDuration(text: string): number | null {
  const sign = text.startsWith('-') ? -1 : 1;
  const bare = /^[+-]/.test(text) ? text.slice(1) : text;
  if (bare === '0') return 0;
  if (bare === '') return null;
  let ms = 0;
  let at = 0;
  while (at < bare.length) {
    part.lastIndex = at;
    const found = part.exec(bare);
    if (found === null) return null;
    ms += Number(found[1]) * (unitMs[found[2] as string] as number);
    at = part.lastIndex;
  }
  return ms > longestMs ? null : sign * ms;
}

/** Go's format: the largest unit that fits, without trailing zeros. */
export function durationText(ms: number): string {
  if (ms < 0) return `-${durationText(-ms)}`;
  const ns = Math.round(ms * 1e6);
  if (ns === 0) return '0s';
  if (ns < 1_000) return `${ns}ns`;
  if (ns < 1_000_000) return `${trimmed(ns, 1e3)}µs`;
  if (ns < 1_000_000_000) return `${trimmed(ns, 1e6)}ms`;
  const minutes = Math.floor(ns / 60e9);
  const seconds = `${trimmed(ns - minutes * 60e9, 1e9)}s`;
  if (minutes === 0) return seconds;
  const hours = Math.floor(minutes / 60);
  return hours === 0 ? `${minutes}m${seconds}` : `${hours}h${minutes % 60}m${seconds}`;
}

/** Nanoseconds in a larger unit, as a decimal number without trailing zeros. Computed with integers: every answer contains two durations, and V8 takes longer for fractions. */
function trimmed(ns: number, unit: number): string {
  const integerPart = Math.floor(ns / unit);
  let rest = Math.round(ns - integerPart * unit);
  if (rest === 0) return String(integerPart);
  let least = unit / 10;
  for (; rest % 10 === 0; least /= 10) rest /= 10;
  let zeros = '';
  for (; rest < least; least /= 10) zeros += '0';
  return `${integerPart}.${zeros}${rest}`;
}
