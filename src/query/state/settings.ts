// The settings of the service on this node: the cluster's query settings, overridden by POST /admin/settings until the next start.
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import { parseDuration } from '../request/duration.ts';
import { parseCollectionPath } from '../transactions/collection-path.ts';

export interface ServiceSettings {
  /** The limit of concurrent requests. */
  servicers: number;
  /** The limit of requests that wait. */
  queueLimit: number;
  /** 0: no timeout. */
  timeoutMs: number;
  requestBytesMax: number;
  /** Requests that took at least this long are recorded as completed requests; -1: none are. */
  completedThresholdMs: number;
  /** How many completed requests are kept. */
  completedLimit: number;
  preparedLimit: number;
  isPretty: boolean;
  profile: 'off' | 'phases' | 'timings';
  showsControls: boolean;
  autoPrepare: boolean;
  /** The memory of one request; 0: no limit. */
  memoryQuotaMb: number;
  /** The number of failed rows after which a request ends. */
  errorLimit: number;
  /** False: a statement on a keyspace without a usable index fails, as in 7.1. */
  sequentialScans: boolean;
  /** The limit of the temporary files of all requests; -1: no limit. */
  tmpSpaceMb: number;
  /** The other settings by their published names; most tune internals of published servers and have no effect here. */
  others: Record<string, unknown>;
}

export const defaultSettings = (processors: number): ServiceSettings => ({
  servicers: processors * 4,
  queueLimit: 1024,
  timeoutMs: 0,
  requestBytesMax: 64 << 20,
  completedThresholdMs: 1000,
  completedLimit: 4000,
  preparedLimit: 16_384,
  isPretty: false,
  profile: 'off',
  showsControls: false,
  autoPrepare: false,
  memoryQuotaMb: 0,
  errorLimit: 16,
  sequentialScans: true,
  tmpSpaceMb: 5120,
  others: {
    'plus-servicers': processors * 16,
    'scan-cap': 512,
    'pipeline-batch': 16,
    'pipeline-cap': 512,
    'max-parallelism': 1,
    'keep-alive-length': 16_384,
    loglevel: 'info',
    'max-index-api': 4,
    'n1ql-feat-ctrl': 76,
    'use-cbo': true,
    txtimeout: '0s',
    atrcollection: '',
    numatrs: 1024,
    cleanupwindow: '1m0s',
    cleanupclientattempts: true,
    cleanuplostattempts: true,
    'functions-limit': 16_384,
    'tasks-limit': 16_384,
    cpuprofile: '',
    memprofile: '',
    debug: false,
  },
});

interface Field {
  read(settings: ServiceSettings): unknown;
  write(settings: ServiceSettings, value: unknown): boolean;
}

const isIntegerFrom = (value: unknown, minimum: number): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= minimum;

type NumberName = {
  [K in keyof ServiceSettings]: ServiceSettings[K] extends number ? K : never;
}[keyof ServiceSettings];
type FlagName = 'isPretty' | 'showsControls' | 'autoPrepare' | 'sequentialScans';

const integerField = (name: NumberName, minimum = 0): Field => ({
  read: (settings) => settings[name],
  write(settings, value) {
    if (!isIntegerFrom(value, minimum)) return false;
    settings[name] = value;
    return true;
  },
});

const flag = (name: FlagName): Field => ({
  read: (settings) => settings[name],
  write(settings, value) {
    if (typeof value !== 'boolean') return false;
    settings[name] = value;
    return true;
  },
});

/** Nanoseconds as a number, or a duration. */
const timeout: Field = {
  read: (settings) => settings.timeoutMs * 1e6,
  write(settings, value) {
    const ms =
      typeof value === 'string' ? parseDuration(value) : typeof value === 'number' ? value / 1e6 : null;
    if (ms === null || !Number.isFinite(ms)) return false;
    settings.timeoutMs = Math.max(0, ms);
    return true;
  },
};

const profile: Field = {
  read: (settings) => settings.profile,
  write(settings, value) {
    if (value !== 'off' && value !== 'phases' && value !== 'timings') return false;
    settings.profile = value;
    return true;
  },
};

const fields: Readonly<Record<string, Field>> = {
  servicers: integerField('servicers', 1),
  'request-size-cap': integerField('requestBytesMax', 1024),
  timeout,
  'completed-threshold': integerField('completedThresholdMs', -1),
  'completed-limit': integerField('completedLimit'),
  'prepared-limit': integerField('preparedLimit', 1),
  pretty: flag('isPretty'),
  profile,
  controls: flag('showsControls'),
  'auto-prepare': flag('autoPrepare'),
  'memory-quota': integerField('memoryQuotaMb'),
  'request-error-limit': integerField('errorLimit'),
  'tmp-space-size': integerField('tmpSpaceMb', -1),
  'sequential-scans': flag('sequentialScans'),
};

const isDuration = (text: string): boolean => parseDuration(text) !== null;

const logLevels = new Set(['debug', 'trace', 'request', 'info', 'warn', 'error', 'severe', 'none']);

/** Checks of the values of `others`, beyond the check of their type. */
const otherChecks: Readonly<Record<string, (text: string) => boolean>> = {
  loglevel: (level) => logLevels.has(level.toLowerCase()),
  txtimeout: isDuration,
  cleanupwindow: isDuration,
  atrcollection: (path) => path === '' || parseCollectionPath(path) !== null,
};

/** The reply to GET /admin/settings. */
export function shownSettings(settings: ServiceSettings): Record<string, unknown> {
  const active = Object.entries(fields).map(([name, field]) => [name, field.read(settings)] as const);
  const completed = { aborted: null, threshold: settings.completedThresholdMs };
  const published = { ...settings.others, ...Object.fromEntries(active), completed };
  return Object.fromEntries(Object.entries(published).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Applies all changes or none.
 * @throws SqlError 2031, 2032 that names the setting
 */
export function changeSettings(settings: ServiceSettings, changes: Record<string, unknown>): void {
  const changed: ServiceSettings = { ...settings, others: { ...settings.others } };
  for (const [name, value] of Object.entries(changes)) changeSetting(changed, name, value);
  Object.assign(settings, changed);
}

function changeSetting(settings: ServiceSettings, name: string, value: unknown): void {
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (field !== undefined) {
    if (field.write(settings, value)) return;
    throw sqlError(2032, JSON.stringify(value), typeof value, name);
  }
  if (name === 'completed') {
    const threshold = (value as { threshold?: unknown } | null)?.threshold;
    if (threshold !== undefined) changeSetting(settings, 'completed-threshold', threshold);
    return;
  }
  if (!Object.hasOwn(settings.others, name)) throw sqlError(2031, name);
  if (typeof value !== typeof settings.others[name] || otherChecks[name]?.(String(value)) === false)
    throw sqlError(2032, JSON.stringify(value), typeof value, name);
  settings.others[name] = value;
}
