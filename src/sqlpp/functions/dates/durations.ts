// Durations as text: `1h15m30.918273645s`.

const unitNs: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

/** The longest text of a duration: the numbers of longer ones would take quadratic time. */
const durationMax = 1_000;

/** Nanoseconds; undefined if the text is not a duration. */
export function readDuration(text: string): bigint | undefined {
  if (text === '0' || text === '+0' || text === '-0') return 0n;
  if (text.length > durationMax) return undefined;
  const match = /^([+-]?)((?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.exec(text);
  if (match === null) return undefined;
  let sum = 0n;
  for (const [, integerPart = '', fraction = '', unit = ''] of text.matchAll(
    /(\d*)\.?(\d*)(ns|us|µs|μs|ms|s|m|h)/g,
  )) {
    const size = unitNs[unit] as bigint;
    sum += BigInt(integerPart || 0) * size + (BigInt(fraction || 0) * size) / 10n ** BigInt(fraction.length);
  }
  if (sum >= 2n ** 63n) return undefined;
  return match[1] === '-' ? -sum : sum;
}

export function writeDuration(ns: bigint): string {
  if (ns < 0n) return `-${writeDuration(-ns)}`;
  if (ns === 0n) return '0s';
  if (ns < 1000n) return `${ns}ns`;
  if (ns < 1_000_000n) return `${decimal(ns, 1000n)}µs`;
  if (ns < 1_000_000_000n) return `${decimal(ns, 1_000_000n)}ms`;
  const minutes = ns / 60_000_000_000n;
  const seconds = `${decimal(ns % 60_000_000_000n, 1_000_000_000n)}s`;
  if (minutes === 0n) return seconds;
  return minutes < 60n ? `${minutes}m${seconds}` : `${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

function decimal(value: bigint, unit: bigint): string {
  const fraction = (value % unit)
    .toString()
    .padStart(unit.toString().length - 1, '0')
    .replace(/0+$/, '');
  return fraction === '' ? `${value / unit}` : `${value / unit}.${fraction}`;
}
