// Decides when a bucket is due for automatic compaction: enough space of its files would be released, and the time of day
// is in the allowed period.

export interface CompactionRule {
  /** Percent of the file; null: no such threshold. */
  percentage: number | null;
  /** Bytes that would be released; null: no such threshold. */
  sizeBytes: number | null;
  /**
   * Local time of day; start inclusive, end exclusive, across midnight if the end is earlier;
   * the whole day if both are equal. Null: any time.
   */
  period: CompactionPeriod | null;
}

export interface CompactionPeriod {
  fromHour: number;
  fromMinute: number;
  toHour: number;
  toMinute: number;
  /** A running compaction is cancelled at the end of the period. */
  abortOutside: boolean;
}

/** Bytes of whole pages: pages are never completely full, even in a new file. */
export interface Fragmentation {
  dataBytes: number;
  /** Bytes that compaction would release. */
  freeBytes: number;
}

export interface TimeOfDay {
  hour: number;
  minute: number;
}

/** The time in the time zone of the process, also on days when daylight saving time begins or ends. */
export function localTimeOfDay(wallMs: number): TimeOfDay {
  const at = new Date(wallMs);
  return { hour: at.getHours(), minute: at.getMinutes() };
}

/**
 * Smaller files are not compacted: the space is not worth the work. Servers with a file for each vbucket
 * have a far higher limit; here a bucket has a few files of any size.
 */
const compactableBytesMin = 4 * 1024 * 1024;

export type CompactionDecision = 'compact' | 'wait' | 'stop';

/** `stop` cancels a running compaction; `wait` starts none and lets a running one continue. */
export function decideCompaction(
  rule: CompactionRule,
  { dataBytes, freeBytes }: Fragmentation,
  now: TimeOfDay,
): CompactionDecision {
  if (!isWithin(rule.period, now)) return rule.period?.abortOutside ? 'stop' : 'wait';
  const bytes = dataBytes + freeBytes;
  if (bytes < compactableBytesMin) return 'wait';
  const percent = Math.round((100 * freeBytes) / bytes);
  const isDue = percent >= (rule.percentage ?? 100) || freeBytes >= (rule.sizeBytes ?? Infinity);
  return isDue ? 'compact' : 'wait';
}

function isWithin(period: CompactionPeriod | null, { hour, minute }: TimeOfDay): boolean {
  if (period === null) return true;
  const at = 60 * hour + minute;
  const from = 60 * period.fromHour + period.fromMinute;
  const to = 60 * period.toHour + period.toMinute;
  return from < to ? at >= from && at < to : at >= from || at < to;
}
