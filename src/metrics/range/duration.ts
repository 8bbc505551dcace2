// Parses durations of requests: seconds, or a number with a unit.

const unitMs: Record<string, number> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
  y: 365 * 86_400_000,
};

type Read = { readonly ms: number } | { readonly problem: string };

export function readDuration(text: string): Read {
  const parts = /^(\d{1,12}(?:\.\d{1,9})?)([a-z]*)$/.exec(text.trim());
  if (!parts) return { problem: 'not a valid duration string' };
  const [, amount, unit] = parts as unknown as [string, string, string];
  const factor = unitMs[unit === '' ? 's' : unit];
  if (factor === undefined) return { problem: 'not a valid duration string' };
  const ms = Math.round(Number(amount) * factor);
  return ms > 1 ? { ms } : { problem: 'must be greater than 1ms' };
}
