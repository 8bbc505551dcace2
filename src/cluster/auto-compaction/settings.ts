// The cluster's auto-compaction settings, which apply to buckets without settings of their own, and their rendering.
import type {
  BucketAutoCompaction,
  ClusterAutoCompaction,
  FragmentationThreshold,
  StoredBucket,
} from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';

export const compactionSetting = 'autoCompaction';

export const weekDays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

export const compactionDefaults: ClusterAutoCompaction = {
  parallelDBAndViewCompaction: false,
  allowedTimePeriod: null,
  databaseFragmentationThreshold: { percentage: 30, sizeMb: null },
  viewFragmentationThreshold: { percentage: 30, sizeMb: null },
  indexCompactionMode: 'circular',
  indexCircularCompaction: {
    daysOfWeek: weekDays.join(','),
    interval: { fromHour: 0, toHour: 0, fromMinute: 0, toMinute: 0, abortOutside: false },
  },
  indexFragmentationThreshold: { percentage: 30 },
  purgeIntervalDays: 3,
};

export const clusterCompaction = (view: ClusterView): ClusterAutoCompaction =>
  view.setting(compactionSetting, compactionDefaults);

const secondsPerDay = 86_400;

/** A compaction that starts now purges tombstones of deletions before this second. */
export function purgeBeforeSeconds(
  bucket: StoredBucket,
  cluster: ClusterAutoCompaction,
  wallMs: number,
): number {
  const days = bucket.purgeIntervalDays ?? cluster.purgeIntervalDays;
  return Math.floor(wallMs / 1000 - days * secondsPerDay);
}

/** An unset number reads as the text `undefined`, as published clients expect. */
const numberOrUndefined = (value: number | null): number | 'undefined' => value ?? 'undefined';

const shownThreshold = (threshold: FragmentationThreshold) => ({
  percentage: numberOrUndefined(threshold.percentage),
  size: numberOrUndefined(threshold.sizeMb),
});

const shownCommon = (settings: Omit<BucketAutoCompaction, 'indexCompactionMode'>) => ({
  parallelDBAndViewCompaction: settings.parallelDBAndViewCompaction,
  ...(settings.allowedTimePeriod && { allowedTimePeriod: settings.allowedTimePeriod }),
  databaseFragmentationThreshold: shownThreshold(settings.databaseFragmentationThreshold),
  viewFragmentationThreshold: shownThreshold(settings.viewFragmentationThreshold),
});

export function shownBucketCompaction(bucket: BucketAutoCompaction): Record<string, unknown> {
  return {
    ...shownCommon(bucket),
    ...(bucket.indexCompactionMode !== undefined && { indexCompactionMode: bucket.indexCompactionMode }),
  };
}

/** The cluster's settings without the purge interval, as `/pools/default` contains them. */
export function shownClusterCompaction(settings: ClusterAutoCompaction): Record<string, unknown> {
  return {
    ...shownCommon(settings),
    indexCompactionMode: settings.indexCompactionMode,
    indexCircularCompaction: settings.indexCircularCompaction,
    indexFragmentationThreshold: {
      percentage: numberOrUndefined(settings.indexFragmentationThreshold.percentage),
    },
  };
}
