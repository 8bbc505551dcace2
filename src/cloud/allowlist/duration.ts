// Parses durations in the part of Go's notation that published clients send: h, m, s and ms, without a sign, as in `1h0m0s` or `1.5h`.

const unitMs: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };
const unitPattern = /(\d+(?:\.\d+)?)(ms|h|m|s)/g;

/** Whole milliseconds; null if the text is not a duration. */
export function durationMs(text: string): number | null {
  if (!/^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|h|m|s))+$/.test(text)) return null;
  const parts = [...text.matchAll(unitPattern)];
  const ms = parts.reduce(
    (sum, [, count, unit]) => sum + Number(count) * (unitMs[unit as string] as number),
    0,
  );
  return Math.round(ms);
}
