// Spans of time and the names of their files. After the clock was put back there may be several of one span; the one with the
// higher number was written later.

export interface SpanId {
  readonly startMs: number;
  /** From 0. */
  readonly number: number;
}

export const spanName = ({ startMs, number }: SpanId): string =>
  number === 0 ? String(startMs) : `${startMs}.${number}`;

export const isSameSpan = (a: SpanId, b: SpanId): boolean => a.startMs === b.startMs && a.number === b.number;

export const bySpan = (a: SpanId, b: SpanId): number => a.startMs - b.startMs || a.number - b.number;

/** Null for a file of another kind. */
export function spanOfFile(name: string, suffix: string): SpanId | null {
  const parts = /^(\d+)(?:\.(\d+))?(\.\w+)$/.exec(name);
  if (parts?.[3] !== suffix) return null;
  return { startMs: Number(parts[1]), number: Number(parts[2] ?? 0) };
}
