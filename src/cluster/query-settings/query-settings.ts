// Settings of the query service: their ranges, and the service's own names for them. Only values that were set are stored.
import { integerOf } from '#base/decimal.ts';
import type { Form } from '#contract/route.ts';
import { type CurlAllowlist, noSequentialScans } from '#query/query.contract.ts';
import { Problems } from '../forms/problems.ts';

export type QueryValue = number | boolean | string;
export type QuerySettings = Readonly<Record<string, QueryValue>>;

export const querySetting = 'query';
export const curlSetting = 'query/curl';
export const noCurl: CurlAllowlist = { all_access: false, allowed_urls: [], disallowed_urls: [] };

type Rule =
  | { kind: 'integer'; min: number; max: number; default: number }
  | { kind: 'flag'; default: boolean }
  | { kind: 'enum'; words: readonly string[]; default: string }
  | { kind: 'duration'; default: string }
  | { kind: 'text'; default: string };

const intMax = 2 ** 31 - 1;
const integer = (defaultValue: number, min = 0, max = intMax): Rule => ({
  kind: 'integer',
  min,
  max,
  default: defaultValue,
});
const flag = (defaultValue: boolean): Rule => ({ kind: 'flag', default: defaultValue });
const textMax = 1000;

export const queryRules = {
  queryTmpSpaceDir: { kind: 'text', default: '' },
  queryTmpSpaceSize: integer(5120, -1),
  queryPipelineBatch: integer(16, 1),
  queryPipelineCap: integer(512, 1),
  queryScanCap: integer(512, -1),
  queryTimeout: integer(0, -1, Number.MAX_SAFE_INTEGER),
  queryPreparedLimit: integer(16_384, 1),
  queryCompletedLimit: integer(4000),
  queryCompletedThreshold: integer(1000, -1),
  queryLogLevel: {
    kind: 'enum',
    words: ['debug', 'trace', 'info', 'warn', 'error', 'severe', 'none'],
    default: 'info',
  },
  queryMaxParallelism: integer(1),
  queryTxTimeout: { kind: 'duration', default: '0ms' },
  queryMemoryQuota: integer(0),
  queryUseCBO: flag(true),
  queryCleanupClientAttempts: flag(true),
  queryCleanupLostAttempts: flag(true),
  queryCleanupWindow: { kind: 'duration', default: '60s' },
  queryNumAtrs: integer(1024, 1),
  queryN1QLFeatCtrl: integer(76, 0, Number.MAX_SAFE_INTEGER),
} as const satisfies Record<string, Rule>;

export type QuerySettingName = keyof typeof queryRules;
export const querySettingNames = Object.keys(queryRules) as QuerySettingName[];

export const queryDefaults: QuerySettings = Object.fromEntries(
  querySettingNames.map((name) => [name, queryRules[name].default]),
);

/** The values that the form sets, and its problems, by name. */
export function readQueryForm(form: Form): {
  changes: Record<string, QueryValue>;
  problems: Readonly<Record<string, string>>;
} {
  const changes: Record<string, QueryValue> = {};
  const problems = new Problems();
  for (const name of Object.keys(form))
    if (!Object.hasOwn(queryRules, name)) problems.add(name, 'Unsupported key');
  for (const name of querySettingNames) {
    const sent = form[name];
    if (sent === undefined) continue;
    const read = readValue(sent.trim(), queryRules[name]);
    if (typeof read === 'object') problems.add(name, read.problem);
    else changes[name] = read;
  }
  return { changes, problems: problems.fields };
}

function readValue(sent: string, rule: Rule): QueryValue | { problem: string } {
  switch (rule.kind) {
    case 'integer': {
      const value = integerOf(sent);
      const isFine = value !== null && value >= rule.min && value <= rule.max;
      return isFine ? value : { problem: `The value must be in range from ${rule.min} to ${rule.max}` };
    }
    case 'flag':
      if (sent === 'true' || sent === 'false') return sent === 'true';
      return { problem: 'The value must be one of the following: [true, false]' };
    case 'enum':
      if (rule.words.includes(sent)) return sent;
      return { problem: `The value must be one of the following: [${rule.words.join(', ')}]` };
    case 'duration':
      if (/^\d+(\.\d+)?(ns|us|ms|s|m|h)$/.test(sent)) return sent;
      return { problem: 'The value must be a duration: a number with the unit ns, us, ms, s, m or h' };
    case 'text':
      return sent.length <= textMax ? sent : { problem: `The value must have at most ${textMax} characters` };
  }
}

/** Returns the allowlist, or its problem as a sentence. */
export function readCurlAllowlist(body: unknown): CurlAllowlist | string {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return 'The value must be a JSON object';
  const {
    all_access: all,
    allowed_urls = [],
    disallowed_urls = [],
    ...rest
  } = body as Record<string, unknown>;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) return `Unsupported key ${unknown}`;
  if (typeof all !== 'boolean') return 'all_access must be true or false';
  for (const [name, urls] of Object.entries({ allowed_urls, disallowed_urls }))
    if (!isUrls(urls))
      return `${name} must be a list of at most ${urlsMax} addresses of at most ${textMax} characters, with http:// or https:// and without credentials`;
  return {
    all_access: all,
    allowed_urls: allowed_urls as string[],
    disallowed_urls: disallowed_urls as string[],
  };
}

const urlsMax = 1000;

const isUrls = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length <= urlsMax && value.every(isUrl);

function isUrl(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > textMax || !/^https?:\/\//i.test(value)) return false;
  const url = URL.parse(value);
  return url !== null && url.username === '' && url.password === '';
}

/** The settings under the names that the query service uses. */
export function serviceSettings(settings: QuerySettings): Record<string, unknown> {
  const all = { ...queryDefaults, ...settings };
  return {
    'tmp-space-size': all['queryTmpSpaceSize'],
    'pipeline-batch': all['queryPipelineBatch'],
    'pipeline-cap': all['queryPipelineCap'],
    'scan-cap': all['queryScanCap'],
    timeout: all['queryTimeout'],
    'prepared-limit': all['queryPreparedLimit'],
    'completed-limit': all['queryCompletedLimit'],
    'completed-threshold': all['queryCompletedThreshold'],
    loglevel: all['queryLogLevel'],
    'max-parallelism': all['queryMaxParallelism'],
    txtimeout: all['queryTxTimeout'],
    'memory-quota': all['queryMemoryQuota'],
    'use-cbo': all['queryUseCBO'],
    cleanupclientattempts: all['queryCleanupClientAttempts'],
    cleanuplostattempts: all['queryCleanupLostAttempts'],
    cleanupwindow: all['queryCleanupWindow'],
    numatrs: all['queryNumAtrs'],
    'n1ql-feat-ctrl': all['queryN1QLFeatCtrl'],
    'sequential-scans': ((all['queryN1QLFeatCtrl'] as number) & noSequentialScans) === 0,
  };
}
