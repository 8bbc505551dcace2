// The cluster's auto-compaction settings: what every bucket without settings of its own goes by, and how they are shown.
import type { BucketAutoCompaction, FragmentationThreshold } from '../config/cluster-state.ts';

export const compactionDefaults = {
  parallelDBAndViewCompaction: false,
  databaseFragmentationThreshold: { percentage: 30, sizeMb: null },
  viewFragmentationThreshold: { percentage: 30, sizeMb: null },
  indexFragmentationThreshold: { percentage: 30 },
  purgeIntervalDays: 3,
} as const;

/** An unset number reads as the text `undefined`; published clients know it so. */
const shown = (value: number | null): number | 'undefined' => value ?? 'undefined';

const shownThreshold = (threshold: FragmentationThreshold) => ({
  percentage: shown(threshold.percentage),
  size: shown(threshold.sizeMb),
});

export function shownBucketCompaction(own: BucketAutoCompaction): Record<string, unknown> {
  return {
    parallelDBAndViewCompaction: own.parallelDBAndViewCompaction,
    ...(own.allowedTimePeriod && { allowedTimePeriod: own.allowedTimePeriod }),
    databaseFragmentationThreshold: shownThreshold(own.databaseFragmentationThreshold),
    viewFragmentationThreshold: shownThreshold(own.viewFragmentationThreshold),
    ...(own.indexCompactionMode !== undefined && { indexCompactionMode: own.indexCompactionMode }),
  };
}

const everyDay = 'Sunday,Monday,Tuesday,Wednesday,Thursday,Friday,Saturday';

/** The cluster's settings as `/pools/default` carries them. */
export function shownClusterCompaction(): Record<string, unknown> {
  return {
    parallelDBAndViewCompaction: compactionDefaults.parallelDBAndViewCompaction,
    databaseFragmentationThreshold: shownThreshold(compactionDefaults.databaseFragmentationThreshold),
    viewFragmentationThreshold: shownThreshold(compactionDefaults.viewFragmentationThreshold),
    indexCompactionMode: 'circular',
    indexCircularCompaction: {
      daysOfWeek: everyDay,
      interval: { fromHour: 0, toHour: 0, fromMinute: 0, toMinute: 0, abortOutside: false },
    },
    indexFragmentationThreshold: compactionDefaults.indexFragmentationThreshold,
  };
}
