// Merges by time, as plans of the backup service and nightly commands ask for them: in days before today.
import { Repository } from '../archive/repository.adapter.ts';
import { ArchiveError } from '../format/archive-error.ts';
import { type MergeContext, type MergeResult, runMerge } from './run-merge.adapter.ts';

/** Days before today in the local time zone; 0 is today. */
export interface MergedDays {
  readonly newest: number;
  readonly oldest: number;
}

export interface Interval {
  readonly fromMs: number;
  /** Exclusive. */
  readonly endMs: number;
}

export interface IntervalMergeRequest extends Interval {
  readonly folder: string;
  readonly passphrase?: string | undefined;
}

/** From the first midnight to the one after the last day. @throws ArchiveError when the days are in the wrong order */
export function intervalOfDays({ newest, oldest }: MergedDays, nowMs: number): Interval {
  if (newest > oldest)
    throw new ArchiveError(
      `a merge of days ${oldest} to ${newest}: the first number must not be below the second`,
    );
  return { fromMs: midnight(nowMs, oldest), endMs: midnight(nowMs, newest - 1) };
}

/** Merges the backups that began in the interval; resolves with null if there are fewer than two. @throws ArchiveError */
export async function mergeInterval(
  { folder, passphrase, fromMs, endMs }: IntervalMergeRequest,
  context: MergeContext,
): Promise<MergeResult | null> {
  const names = Repository.open(folder, passphrase).complete();
  const chosen = names.filter((name) => {
    const ms = timeOf(name);
    return ms >= fromMs && ms < endMs;
  });
  if (chosen.length < 2) return null;
  return runMerge({ folder, passphrase, start: chosen[0], end: chosen.at(-1) }, context);
}

/** Days have 23 to 25 hours where clocks are changed. */
function midnight(nowMs: number, daysAgo: number): number {
  const now = new Date(nowMs);
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo).getTime();
}

/** Backups are named after the time at which they began; a merged one after that of the last. */
const timeOf = (name: string): number => Date.parse(name.replace(/Z.*$/, 'Z').replaceAll('_', ':'));
