// Time spans and their file names. After the clock was set back a span may have several versions; the one with the higher number
// was written later.

export interface SpanId {
  readonly startMs: number;
  /** Counted from 0. */
  readonly version: number;
}

export const spanName = ({ startMs, version }: SpanId): string =>
  version === 0 ? String(startMs) : `${startMs}.${version}`;

export const isSameSpan = (a: SpanId, b: SpanId): boolean =>
  a.startMs === b.startMs && a.version === b.version;

export const bySpan = (a: SpanId, b: SpanId): number => a.startMs - b.startMs || a.version - b.version;

/** Null if the file name is not that of a span. */
export function spanOfFile(name: string, suffix: string): SpanId | null {
  const parts = /^(\d+)(?:\.(\d+))?(\.\w+)$/.exec(name);
  if (parts?.[3] !== suffix) return null;
  return { startMs: Number(parts[1]), version: Number(parts[2] ?? 0) };
}
