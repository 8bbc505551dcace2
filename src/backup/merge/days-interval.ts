// The interval of days counted back from today, by which plans and commands name the backups to merge.
import { BackupError } from '../format/backup-error.ts';

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

/** From the first midnight to the one after the last day. @throws BackupError when the days are in the wrong order */
export function intervalOfDays({ newest, oldest }: MergedDays, nowMs: number): Interval {
  if (newest > oldest)
    throw new BackupError(
      `a merge of days ${oldest} to ${newest}: the first number must not be below the second`,
    );
  return { fromMs: midnight(nowMs, oldest), endMs: midnight(nowMs, newest - 1) };
}

/** Days have 23 to 25 hours where clocks are changed. */
function midnight(nowMs: number, daysAgo: number): number {
  const now = new Date(nowMs);
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo).getTime();
}
