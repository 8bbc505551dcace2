// Automatic compaction of buckets without settings of their own.
import { type SettingGroup, setting } from './setting.ts';

const hour = '0–23';
const minute = '0–59';
const flag = '`true`, `false`';
const whole = 'given together with the other four parts, or not at all; left out, there is no period';
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
      'acts',
      'with `true` a bucket is compacted also while another one is',
    ),
    setting(
      'databaseFragmentationThreshold[percentage]',
      '30; left out, as it was',
      '2–100, `undefined`',
      'live',
      'acts',
    ),
    setting(
      'databaseFragmentationThreshold[size]',
      'unset',
      '1 and up, `undefined`',
      'live',
      'acts',
      'megabytes that compaction would give back',
    ),
    setting(
      'viewFragmentationThreshold[percentage]',
      '30; left out, as it was',
      '2–100, `undefined`',
      'live',
      'views',
    ),
    setting('viewFragmentationThreshold[size]', 'unset', '1 and up, `undefined`', 'live', 'views'),
    setting(`${period}[fromHour]`, 'any time', hour, 'live', 'acts', whole),
    setting(`${period}[fromMinute]`, 'any time', minute, 'live', 'acts', whole),
    setting(`${period}[toHour]`, 'any time', hour, 'live', 'acts', whole),
    setting(`${period}[toMinute]`, 'any time', minute, 'live', 'acts', whole),
    setting(`${period}[abortOutside]`, 'any time', flag, 'live', 'acts', whole),
    setting(
      'purgeInterval',
      '3',
      '0.04–60 days',
      'live',
      'acts',
      'rounded at fifteen places; acts when a bucket is compacted',
    ),
    setting(
      'indexCompactionMode',
      '`circular`',
      '`standard`, `circular`, `full`',
      'live',
      'index',
      community,
    ),
    setting(
      `${circular}[daysOfWeek]`,
      'every day',
      'names of days, with commas between them',
      'live',
      'index',
    ),
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
