// Merges of the backups of an interval, for plans of the backup service and nightly commands.
import { Repository } from '../archive/repository.adapter.ts';
import type { Interval } from './days-interval.ts';
import { type MergeContext, type MergeResult, runMerge } from './run-merge.adapter.ts';

export interface IntervalMergeRequest extends Interval {
  readonly folder: string;
  readonly passphrase?: string | undefined;
}

/** Merges the backups that began in the interval; resolves with null if there are fewer than two. @throws BackupError */
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

/** The name of a backup is the time at which it began. The name of a merged backup begins with that of the last backup in it. */
const timeOf = (name: string): number => Date.parse(name.replace(/Z.*$/, 'Z').replaceAll('_', ':'));
