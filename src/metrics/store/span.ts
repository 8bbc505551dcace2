// Time spans and their file names. After the clock was set back a span may have several versions; the one with the higher number
// was written later.

export interface SpanId {
  readonly startMs: number;
  /** The version, from 0. */
  readonly number: number;
}

export const spanName = ({ startMs, number }: SpanId): string =>
  number === 0 ? String(startMs) : `${startMs}.${number}`;

export const isSameSpan = (a: SpanId, b: SpanId): boolean => a.startMs === b.startMs && a.number === b.number;

export const bySpan = (a: SpanId, b: SpanId): number => a.startMs - b.startMs || a.number - b.number;

/** Null if the file name is not that of a span. */
export function spanOfFile(name: string, suffix: string): SpanId | null {
  const parts = /^(\d+)(?:\.(\d+))?(\.\w+)$/.exec(name);
  if (parts?.[3] !== suffix) return null;
  return { startMs: Number(parts[1]), number: Number(parts[2] ?? 0) };
}
