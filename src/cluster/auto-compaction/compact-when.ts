// When a bucket is due for compaction without being asked: enough of its files would be given back, and it is the time
// of day for it. Pure: whoever schedules asks again and again.

export interface CompactWhen {
  /** Percent of the file, null when it does not count. */
  percentage: number | null;
  /** Bytes that would be given back, null when they do not count. */
  sizeBytes: number | null;
  /**
   * Local time of day; begins inclusively, ends exclusively, over midnight when the end is earlier;
   * the whole day when they are the same. Null: any time.
   */
  period: CompactPeriod | null;
}

export interface CompactPeriod {
  fromHour: number;
  fromMinute: number;
  toHour: number;
  toMinute: number;
  /** A compaction under way ends with the period. */
  abortOutside: boolean;
}

/** Bytes of whole pages: pages are never quite full, in a file that was just written neither. */
export interface Fragmentation {
  dataBytes: number;
  /** What compaction would give back. */
  freeBytes: number;
}

export interface TimeOfDay {
  hour: number;
  minute: number;
}

/**
 * What is smaller is left alone: what it could give back is not worth the work. Servers with a file for each vbucket
 * have a far higher limit; here a bucket has a few files, however small.
 */
const leastBytes = 4 * 1024 * 1024;

export type Verdict = 'compact' | 'wait' | 'stop';

/** `stop` calls off what is under way; `wait` begins nothing and lets go on what goes on. */
export function compactNow(
  when: CompactWhen,
  { dataBytes, freeBytes }: Fragmentation,
  now: TimeOfDay,
): Verdict {
  if (!isWithin(when.period, now)) return when.period?.abortOutside ? 'stop' : 'wait';
  const bytes = dataBytes + freeBytes;
  if (bytes < leastBytes) return 'wait';
  const percent = Math.round((100 * freeBytes) / bytes);
  const isDue = percent >= (when.percentage ?? 100) || freeBytes >= (when.sizeBytes ?? Infinity);
  return isDue ? 'compact' : 'wait';
}

function isWithin(period: CompactPeriod | null, { hour, minute }: TimeOfDay): boolean {
  if (period === null) return true;
  const at = 60 * hour + minute;
  const from = 60 * period.fromHour + period.fromMinute;
  const to = 60 * period.toHour + period.toMinute;
  return from < to ? at >= from && at < to : at >= from || at < to;
}
