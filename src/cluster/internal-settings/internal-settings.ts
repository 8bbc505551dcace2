// The internal settings: names, ranges and defaults, and how a form changes them.
import { integerOf } from '#base/decimal.ts';
import type { Form } from '#contract/route.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { LimitsEnforcement } from '../users/identities.ts';

export const internalSetting = 'internal';

interface NumberRule {
  readonly min: number;
  readonly max: number;
  readonly default: number | null;
}

const number = (min: number, max: number, defaultValue: number): NumberRule => ({
  min,
  max,
  default: defaultValue,
});
/** Unlimited unless set; an empty text removes the limit. */
const limit: NumberRule = { min: 0, max: 99_999, default: null };

export const numberRules = {
  capiRequestLimit: limit,
  dropRequestMemoryThresholdMiB: limit,
  restRequestLimit: limit,
  maxBucketCount: number(1, 8192, 30),
  maxParallelIndexers: number(1, 1024, 4),
  maxParallelReplicaIndexers: number(1, 1024, 2),
  rebalanceMovesBeforeCompaction: number(1, 1024, 64),
  rebalanceMovesPerNode: number(1, 1024, 4),
  xdcrAnticipatoryDelay: number(0, 99_999, 0),
  xdcrCheckpointInterval: number(60, 14_400, 1800),
  xdcrDocBatchSizeKb: number(10, 100_000, 2048),
  xdcrFailureRestartInterval: number(1, 300, 30),
  xdcrMaxConcurrentReps: number(1, 256, 32),
  xdcrOptimisticReplicationThreshold: number(0, 20_971_520, 256),
  xdcrWorkerBatchSize: number(500, 10_000, 500),
} as const satisfies Record<string, NumberRule>;

export const switches = [
  'indexAwareRebalanceDisabled',
  'rebalanceIgnoreViewCompactions',
  'rebalanceIndexPausingDisabled',
  'rebalanceIndexWaitingDisabled',
  'enforceLimits',
] as const;

type NumberName = keyof typeof numberRules;
type SwitchName = (typeof switches)[number];
type LimitName = 'capiRequestLimit' | 'dropRequestMemoryThresholdMiB' | 'restRequestLimit';
export type InternalSettings = Record<LimitName, number | null> &
  Record<Exclude<NumberName, LimitName>, number> &
  Record<SwitchName, boolean>;

const numberNames = Object.keys(numberRules) as NumberName[];

export const internalDefaults = Object.fromEntries([
  ...numberNames.map((name) => [name, numberRules[name].default]),
  ...switches.map((name) => [name, false]),
]) as InternalSettings;

export const internalSettings = (view: ClusterView): InternalSettings =>
  view.setting(internalSetting, internalDefaults);

/** The settings that an operator has set. */
export const chosenInternalSettings = (view: ClusterView): Partial<InternalSettings> =>
  view.setting<Partial<InternalSettings>>(internalSetting, {});

/** Whether limits of users and scopes are enforced. */
export const limitsEnforcement = (view: ClusterView): LimitsEnforcement => {
  const isOn = () => internalSettings(view).enforceLimits;
  return {
    get isOn() {
      return isOn();
    },
    onChange(listener) {
      let was: boolean | null = null;
      return view.onChange(() => {
        if (was === isOn()) return;
        was = isOn();
        listener();
      });
    },
  };
};

/** The maximum number of buckets; if there are more, it only prevents new ones. */
export const bucketCountMax = (view: ClusterView): number => internalSettings(view).maxBucketCount;

/** The changes of the form, and its problems as `parameter - reason`. */
export function readInternalForm(form: Form): { changes: Partial<InternalSettings>; problems: string[] } {
  const changes: Record<string, number | boolean | null> = {};
  const knownNames = new Set<string>([...numberNames, ...switches]);
  const problems = Object.keys(form)
    .filter((name) => !knownNames.has(name))
    .map((name) => `Unknown key ${name}`);
  for (const name of numberNames) {
    const read = readNumber(form[name], numberRules[name]);
    if (typeof read === 'string') problems.push(`${name} - ${read}`);
    else if (read !== undefined) changes[name] = read;
  }
  for (const name of switches) {
    const sent = form[name];
    if (sent === 'true' || sent === 'false') changes[name] = sent === 'true';
    else if (sent !== undefined) problems.push(`${name} - Accepted values are 'true' and 'false'.`);
  }
  return { changes: changes as Partial<InternalSettings>, problems };
}

/** The value, null to remove a limit, undefined if the parameter was not sent, or the problem as a text. */
function readNumber(sent: string | undefined, rule: NumberRule): number | null | undefined | string {
  if (sent === undefined) return undefined;
  if (sent === '' && rule.default === null) return null;
  const value = integerOf(sent);
  if (value !== null && value >= rule.min && value <= rule.max) return value;
  return `The value must be between ${rule.min} and ${rule.max}.`;
}
