// Settings of a replication: their ranges, their defaults, and how forms change them. Published settings without an effect in this version
// are refused, except with the value that describes what this version does.
import { filterProblem } from '#xdcr/filter/filter.contract.ts';
import { type DataPathSettings, priorities, replicationLogLevels } from '#xdcr/xdcr.contract.ts';

export type ReplicationSettings = DataPathSettings;
type Name = keyof ReplicationSettings;

interface IntegerRule {
  readonly min: number;
  readonly max: number;
  readonly default: number;
}

const integer = (min: number, max: number, fallback: number): IntegerRule => ({
  min,
  max,
  default: fallback,
});

/** The units of integer settings are documented with the fields of `DataPathSettings`. */
export const integerRules = {
  checkpointInterval: integer(60, 14_400, 600),
  workerBatchSize: integer(10, 10_000, 500),
  docBatchSizeKb: integer(10, 10_000, 2048),
  failureRestartInterval: integer(1, 300, 10),
  optimisticReplicationThreshold: integer(0, 20_971_520, 256),
  sourceNozzlePerNode: integer(1, 100, 2),
  targetNozzlePerNode: integer(1, 100, 2),
  statsInterval: integer(200, 600_000, 1000),
  networkUsageLimit: integer(0, 1_000_000, 0),
  desiredLatency: integer(10, 10_000_000, 50),
} as const satisfies Partial<Record<Name, IntegerRule>>;

export const switches = [
  'filterBypassExpiry',
  'filterDeletion',
  'filterExpiration',
  'filterDeletionsWithExpression',
  'filterExpirationsWithExpression',
  'filterBypassUncommittedTxn',
  'filterBinary',
] as const satisfies readonly Name[];

/** Each with the published text about a wrong value. */
export const choices = {
  compressionType: {
    values: ['Auto', 'None'],
    problem: 'Unable to translate user input to internal compression Type',
  },
  priority: { values: priorities, problem: 'priority is invalid' },
  logLevel: { values: replicationLogLevels, problem: 'logLevel is invalid' },
} as const satisfies Partial<Record<Name, { values: readonly string[]; problem: string }>>;

/** Published settings without an effect, with the only value that is accepted. */
export const fixedSettings = {
  type: 'xmem',
  collectionsOSOMode: false,
} as const;
/** Published settings that are refused with every value. */
export const refusedSettings = [
  'preReplicateVBMasterCheck',
  'ckptSvcCacheEnabled',
  'retryOnRemoteAuthErr',
  'retryOnRemoteAuthErrMaxWaitSec',
  'retryOnErrExceptAuthErrMaxWaitSec',
  'replicateCkptIntervalMin',
  'hlvPruningWindowSec',
  'jsFunctionTimeoutMs',
  'mergeFunctionMapping',
  'mobile',
  'conflictLogging',
  'forwardLocalOnly',
  'goMaxProcs',
  'goGC',
] as const;

export const defaultReplicationSettings: ReplicationSettings = {
  ...(Object.fromEntries(Object.entries(integerRules).map(([name, rule]) => [name, rule.default])) as Record<
    keyof typeof integerRules,
    number
  >),
  filterBypassExpiry: false,
  filterDeletion: false,
  filterExpiration: false,
  filterDeletionsWithExpression: false,
  filterExpirationsWithExpression: false,
  filterBypassUncommittedTxn: false,
  filterBinary: false,
  compressionType: 'Auto',
  priority: 'High',
  logLevel: 'Info',
  filterExpression: '',
};

type Form = Readonly<Record<string, string>>;

export interface SettingsForm {
  readonly changes: Partial<ReplicationSettings>;
  /** Wrong fields with their texts. */
  readonly problems: Record<string, string>;
}

export async function readSettings(form: Form): Promise<SettingsForm> {
  const changes: Record<string, unknown> = {};
  const problems: Record<string, string> = {};
  const readField = (name: string, read: (text: string) => Outcome) => {
    const text = form[name];
    if (text !== undefined) note(name, read(text));
  };
  const note = (name: string, outcome: Outcome) => {
    if ('problem' in outcome) problems[name] = outcome.problem;
    else changes[name] = outcome.value;
  };
  for (const [name, rule] of Object.entries(integerRules)) readField(name, (text) => readInteger(text, rule));
  for (const name of switches) readField(name, readSwitch);
  for (const [name, choice] of Object.entries(choices)) readField(name, (text) => readChoice(text, choice));
  const expression = form['filterExpression'];
  if (expression !== undefined) note('filterExpression', await readFilter(expression));
  for (const name of Object.keys(fixedSettings)) {
    const problem = fixedProblem(name as keyof typeof fixedSettings, form[name]);
    if (problem !== null) problems[name] = problem;
  }
  const skipRestream = form['filterSkipRestream'];
  if (skipRestream !== undefined && booleanOf(skipRestream) === undefined)
    problems['filterSkipRestream'] = 'The value must be a boolean';
  for (const name of refusedSettings)
    if (form[name] !== undefined)
      problems[name] = 'This setting is not available in this version; leave it out';
  return { changes: changes as Partial<ReplicationSettings>, problems };
}

type Outcome = { readonly value: unknown } | { readonly problem: string };

function readInteger(text: string, { min, max }: IntegerRule): Outcome {
  const problem = `The value must be an integer between ${min} and ${max}`;
  if (!/^[+-]?\d{1,15}$/.test(text.trim())) return { problem: 'The value must be an integer' };
  const value = Number(text);
  return value >= min && value <= max ? { value } : { problem };
}

const booleans: Readonly<Record<string, boolean>> = {
  ...Object.fromEntries(['1', 't', 'T', 'TRUE', 'true', 'True'].map((text) => [text, true])),
  ...Object.fromEntries(['0', 'f', 'F', 'FALSE', 'false', 'False'].map((text) => [text, false])),
};

export const booleanOf = (text: string): boolean | undefined =>
  Object.hasOwn(booleans, text) ? booleans[text] : undefined;

function readSwitch(text: string): Outcome {
  const value = booleanOf(text);
  return value === undefined ? { problem: 'The value must be a boolean' } : { value };
}

/** Upper and lower case do not matter. */
function readChoice(text: string, { values, problem }: (typeof choices)[keyof typeof choices]): Outcome {
  const value = values.find((one) => one.toLowerCase() === text.toLowerCase());
  return value === undefined ? { problem } : { value };
}

async function readFilter(text: string): Promise<Outcome> {
  const problem = await filterProblem(text);
  return problem === null ? { value: text.trim() } : { problem };
}

function fixedProblem(name: keyof typeof fixedSettings, text: string | undefined): string | null {
  if (text === undefined) return null;
  const onlyValue = fixedSettings[name];
  if (typeof onlyValue === 'boolean') {
    const value = booleanOf(text);
    if (value === undefined) return 'The value must be a boolean';
    return value === onlyValue
      ? null
      : `This is not available in this version; the only value is ${onlyValue}`;
  }
  if (name === 'type') {
    if (text === 'capi') return 'CAPI replication mode is now deprecated';
    return text === onlyValue ? null : 'type is invalid';
  }
  return text === onlyValue ? null : `The only value in this version is ${onlyValue}`;
}

/** The reply of the settings calls. */
export const shownDataPathSettings = (settings: ReplicationSettings) => ({
  ...defaultReplicationSettings,
  ...settings,
  ...fixedSettings,
});
