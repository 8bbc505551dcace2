// When a bucket is due for compaction without being asked: enough of its files would be given back, and it is the time
// of day for it. Pure: whoever schedules asks again and again.

export interface CompactWhen {
  /** Percent of the file, null when it does not count. */
  percentage: number | null;
  /** Bytes that would be given back, null when they do not count. */
  sizeBytes: number | null;
  /** Local time of day; begins inclusively, ends exclusively, over midnight when the end is earlier. Null: any time. */
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

export interface Fragmentation {
  /** Bytes of the files, and of them those that compaction would give back. */
  fileBytes: number;
  freeBytes: number;
}

export interface TimeOfDay {
  hour: number;
  minute: number;
}

/** Below this much a vbucket, files are left alone: what they could give back is not worth the work. */
const leastBytesPerVbucket = 131_072;

export type Verdict = 'compact' | 'wait' | 'stop';

/** `stop` calls off what is under way; `wait` begins nothing and lets go on what goes on. */
export function compactNow(
  when: CompactWhen,
  files: Fragmentation & { vbuckets: number },
  now: TimeOfDay,
): Verdict {
  if (!isWithin(when.period, now)) return when.period?.abortOutside ? 'stop' : 'wait';
  if (files.fileBytes <= leastBytesPerVbucket * files.vbuckets) return 'wait';
  const percent = Math.round((100 * files.freeBytes) / files.fileBytes);
  const isDue = percent >= (when.percentage ?? 100) || files.freeBytes >= (when.sizeBytes ?? Infinity);
  return isDue ? 'compact' : 'wait';
}

function isWithin(period: CompactPeriod | null, { hour, minute }: TimeOfDay): boolean {
  if (period === null) return true;
  const at = 60 * hour + minute;
  const from = 60 * period.fromHour + period.fromMinute;
  const to = 60 * period.toHour + period.toMinute;
  return from <= to ? at >= from && at < to : at >= from || at < to;
}
