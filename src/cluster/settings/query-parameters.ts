// The query service's settings.
import { type QuerySettingName, queryRules, querySettingNames } from '../query-settings/query-settings.ts';
import { type Effect, type SettingGroup, setting } from './setting.ts';

const effective: Partial<Record<QuerySettingName, string>> = {
  queryTmpSpaceSize:
    'megabytes of the temporary files for sorting, grouping and joins together; -1: no limit',
  queryTimeout: 'nanoseconds; 0: no limit. The shorter of this and the request’s own applies',
  queryPreparedLimit: 'the maximum number of cached prepared statements; the least recently used are dropped',
  queryCompletedLimit:
    'the maximum number of completed requests that the catalog lists; all together take at most 32 MiB',
  queryCompletedThreshold:
    'milliseconds that a completed request must have taken to be listed; -1: none is listed',
  queryTxTimeout:
    'the maximum duration of transactions; 0: only the one that a transaction requests, by default 15 seconds',
  queryCleanupLostAttempts:
    'whether transactions that a crash interrupted are completed or rolled back after a start',
  queryCleanupWindow: 'the interval of checks for such transactions while some may remain',
  queryMemoryQuota: 'the maximum memory of a request in megabytes; 0: no limit',
  queryUseCBO:
    '`false`: plans are chosen by rules, also where `UPDATE STATISTICS` has gathered statistics; `use_cbo` of a request comes first',
  queryN1QLFeatCtrl: 'bit 0x4000 disables scans of whole collections without an index',
};

const rangeOf = (name: QuerySettingName): string => {
  const rule = queryRules[name];
  if (rule.kind === 'integer') return `${rule.min} to ${rule.max}`;
  if (rule.kind === 'enum') return rule.words.map((word) => `\`${word}\``).join(', ');
  if (rule.kind === 'flag') return '`true`, `false`';
  return rule.kind === 'duration' ? 'a number with a unit: `60s`' : 'text';
};

const effectOf = (name: QuerySettingName): Effect => (effective[name] === undefined ? 'kept' : 'effective');

export const queryParameters: SettingGroup = {
  title: 'Query service',
  routes: ['query_settings.change'],
  settings: querySettingNames.map((name) =>
    setting(
      name,
      `\`${String(queryRules[name].default)}\``,
      rangeOf(name),
      'live',
      effectOf(name),
      effective[name] ?? 'tunes parts that this server does not have',
    ),
  ),
};
