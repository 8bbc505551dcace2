// Automatic compaction of buckets without settings of their own.
import { type SettingGroup, setting } from './setting.ts';

const hour = '0–23';
const minute = '0–59';
const flag = '`true`, `false`';
const allParts = 'sent together with the other four parts, or not at all; without them there is no period';
const community = 'ignored in enterprise edition';
const period = 'allowedTimePeriod';
const circular = 'indexCircularCompaction';

export const autoCompaction: SettingGroup = {
  title: 'Auto-compaction',
  routes: ['auto_compaction.change'],
  settings: [
    setting(
      'parallelDBAndViewCompaction',
      '`false`; required',
      flag,
      'live',
      'effective',
      'with `true` a bucket is compacted also while another is being compacted',
    ),
    setting(
      'databaseFragmentationThreshold[percentage]',
      '30; unchanged if omitted',
      '2–100, `undefined`',
      'live',
      'effective',
    ),
    setting(
      'databaseFragmentationThreshold[size]',
      'unset',
      '1 and up, `undefined`',
      'live',
      'effective',
      'megabytes that compaction would release',
    ),
    setting(
      'viewFragmentationThreshold[percentage]',
      '30; unchanged if omitted',
      '2–100, `undefined`',
      'live',
      'views',
    ),
    setting('viewFragmentationThreshold[size]', 'unset', '1 and up, `undefined`', 'live', 'views'),
    setting(`${period}[fromHour]`, 'no period', hour, 'live', 'effective', allParts),
    setting(`${period}[fromMinute]`, 'no period', minute, 'live', 'effective', allParts),
    setting(`${period}[toHour]`, 'no period', hour, 'live', 'effective', allParts),
    setting(`${period}[toMinute]`, 'no period', minute, 'live', 'effective', allParts),
    setting(`${period}[abortOutside]`, 'no period', flag, 'live', 'effective', allParts),
    setting(
      'purgeInterval',
      '3',
      '0.04–60 days',
      'live',
      'effective',
      'rounded to fifteen decimal places; acts at the next compaction',
    ),
    setting(
      'indexCompactionMode',
      '`circular`',
      '`standard`, `circular`, `full`',
      'live',
      'index',
      community,
    ),
    setting(`${circular}[daysOfWeek]`, 'every day', 'names of days, separated by commas', 'live', 'index'),
    setting(`${circular}[interval][fromHour]`, '0', hour, 'live', 'index', community),
    setting(`${circular}[interval][fromMinute]`, '0', minute, 'live', 'index', community),
    setting(`${circular}[interval][toHour]`, '0', hour, 'live', 'index', community),
    setting(`${circular}[interval][toMinute]`, '0', minute, 'live', 'index', community),
    setting(`${circular}[interval][abortOutside]`, '`false`', flag, 'live', 'index', community),
    setting(
      'indexFragmentationThreshold[percentage]',
      '30',
      '2–100, `undefined`',
      'live',
      'index',
      community,
    ),
  ],
};
