// Schemas of auto-compaction settings, of the cluster and of a bucket.
import { shape } from '#contract/json-schema.ts';

const { object, each, string, integer, number, boolean, oneOf, either, named } = shape;

const threshold = object({
  percentage: either(integer, oneOf('undefined')),
  size: either(integer, oneOf('undefined')),
});

const period = object({
  ...each(integer, 'fromHour', 'fromMinute', 'toHour', 'toMinute'),
  abortOutside: boolean,
});

export const compactionShape = named(
  'AutoCompaction',
  object(
    {
      parallelDBAndViewCompaction: boolean,
      databaseFragmentationThreshold: threshold,
      viewFragmentationThreshold: threshold,
    },
    {
      allowedTimePeriod: period,
      indexCompactionMode: string,
      indexCircularCompaction: object({ daysOfWeek: string, interval: period }),
      indexFragmentationThreshold: object({ percentage: either(integer, oneOf('undefined')) }),
    },
  ),
);

export const autoCompactionShape = object({ autoCompactionSettings: compactionShape, purgeInterval: number });
