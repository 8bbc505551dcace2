// The query service's settings.
import { type QuerySettingName, queryRules, querySettingNames } from '../query-settings/query-settings.ts';
import { type Effect, type SettingGroup, setting } from './setting.ts';

const acting: Partial<Record<QuerySettingName, string>> = {
  queryTmpSpaceSize: 'megabytes of temporary files of all sorts, groups and joins together; -1: no limit',
  queryTimeout: 'nanoseconds; 0: no limit. The shorter of this and the request’s holds',
  queryPreparedLimit: 'prepared statements that are kept; the least recently used go',
  queryCompletedLimit: 'completed requests that are kept for the catalog',
  queryCompletedThreshold: 'milliseconds from which on a completed request is kept; -1: none is',
  queryTxTimeout: 'longest time of transactions; 0: only what each asks for, 15 seconds where it does not',
  queryCleanupLostAttempts:
    'whether attempts that a crash has cut off are completed or taken back after a start',
  queryCleanupWindow: 'how often it looks for such attempts while some may be left',
  queryMemoryQuota: 'megabytes that a request may hold; 0: no limit',
  queryN1QLFeatCtrl: 'bit 0x4000 switches scans of whole collections without an index off',
};

const rangeOf = (name: QuerySettingName): string => {
  const rule = queryRules[name];
  if (rule.kind === 'whole') return `${rule.min} to ${rule.max}`;
  if (rule.kind === 'word') return rule.words.map((word) => `\`${word}\``).join(', ');
  if (rule.kind === 'flag') return '`true`, `false`';
  return rule.kind === 'duration' ? 'a number with a unit: `60s`' : 'text';
};

const effectOf = (name: QuerySettingName): Effect => (acting[name] === undefined ? 'kept' : 'acts');

export const queryParameters: SettingGroup = {
  title: 'Query service',
  routes: ['query_settings.change'],
  settings: querySettingNames.map((name) =>
    setting(
      name,
      `\`${String(queryRules[name].fallback)}\``,
      rangeOf(name),
      'live',
      effectOf(name),
      acting[name] ?? 'tunes what this server does not have',
    ),
  ),
};
