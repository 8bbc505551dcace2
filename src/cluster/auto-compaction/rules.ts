// Auto-compaction parameters that the cluster's settings and a bucket's own settings share.
import { integerOf, numberOf } from '#base/decimal.ts';
import type { Form } from '#contract/route.ts';
import type { BucketAutoCompaction, FragmentationThreshold, TimePeriod } from '../config/cluster-state.ts';

/** Collects error texts by parameter. */
export interface ProblemSink {
  add(key: string, text: string): void;
}

interface NumberRule {
  label: string;
  min: number;
  max: number;
}

/** The text `undefined` clears a number; a number that is not set is shown as this text. */
export const cleared = 'undefined';

/** Omitted parameters keep the cluster's value, except the period: without it, compaction may run at any time. */
export function compactionRules(
  form: Form,
  current: Record<'database' | 'view', FragmentationThreshold>,
  problems: ProblemSink,
): BucketAutoCompaction {
  refuseBareNames(form, problems);
  return {
    parallelDBAndViewCompaction: parallel(form, problems),
    allowedTimePeriod: timePeriod(form, 'allowedTimePeriod', problems),
    databaseFragmentationThreshold: threshold(form, 'database', current.database, problems),
    viewFragmentationThreshold: threshold(form, 'view', current.view, problems),
  };
}

function refuseBareNames(form: Form, problems: ProblemSink): void {
  const bare = ['databaseFragmentationThreshold', 'viewFragmentationThreshold'].filter(
    (name) => form[name] !== undefined,
  );
  if (bare.length > 0) problems.add('_', `Got unsupported fields: ${bare.join(' and ')}`);
}

function parallel(form: Form, problems: ProblemSink): boolean {
  const name = 'parallelDBAndViewCompaction';
  if (form[name] === undefined) problems.add(name, `${name} is missing`);
  return boolean(form, name, problems);
}

function threshold(
  form: Form,
  kind: 'database' | 'view',
  current: FragmentationThreshold,
  problems: ProblemSink,
): FragmentationThreshold {
  const name = `${kind}FragmentationThreshold`;
  const percentage = { label: `${kind} fragmentation`, min: 2, max: 100 };
  const size = { label: `${kind} fragmentation size`, min: 1, max: Number.POSITIVE_INFINITY };
  return {
    percentage: numberField(form, `${name}[percentage]`, percentage, current.percentage, problems),
    sizeMb: numberField(form, `${name}[size]`, size, current.sizeMb, problems),
  };
}

/** Null if no period is sent: compaction may run at any time. */
function timePeriod(form: Form, name: string, problems: ProblemSink): TimePeriod | null {
  const period = wholePeriod(form, name, problems);
  if (period && period.fromHour === period.toHour && period.fromMinute === period.toMinute)
    problems.add(name, 'Start time must not be the same as end time');
  return period;
}

/** Requires all five parts or none. */
export function wholePeriod(form: Form, name: string, problems: ProblemSink): TimePeriod | null {
  const parts = ['fromHour', 'fromMinute', 'toHour', 'toMinute', 'abortOutside'];
  const sentParts = parts.filter((part) => form[`${name}[${part}]`] !== undefined);
  if (sentParts.length === 0) return null;
  const timePart = (part: string, label: string, max: number) =>
    numberField(form, `${name}[${part}]`, { label, min: 0, max }, 0, problems) ?? 0;
  const period: TimePeriod = {
    fromHour: timePart('fromHour', 'from hour', 23),
    fromMinute: timePart('fromMinute', 'from minute', 59),
    toHour: timePart('toHour', 'to hour', 23),
    toMinute: timePart('toMinute', 'to minute', 59),
    abortOutside: boolean(form, `${name}[abortOutside]`, problems),
  };
  if (sentParts.length < parts.length) {
    const text = 'Must specify all of the following: fromHour, fromMinute, toHour, toMinute, abortOutside';
    problems.add(name, text);
  }
  return period;
}

function boolean(form: Form, name: string, problems: ProblemSink): boolean {
  const sent = form[name];
  if (sent !== undefined && sent !== 'true' && sent !== 'false') problems.add(name, `${name} is invalid`);
  return sent === 'true';
}

/** The number that the form sets, null if it clears the number; `otherwise` if it has none or an invalid one, which is a problem. */
export function numberField(
  form: Form,
  name: string,
  rule: NumberRule,
  otherwise: number | null,
  problems: ProblemSink,
): number | null {
  const sent = form[name];
  if (sent === undefined) return otherwise;
  if (sent === cleared) return null;
  const value = integerOf(sent);
  if (value !== null) return inRange(name, value, rule, otherwise, problems);
  problems.add(name, `${rule.label} must be an integer`);
  return otherwise;
}

function inRange(
  name: string,
  value: number,
  rule: NumberRule,
  otherwise: number | null,
  problems: ProblemSink,
): number | null {
  // Without a bound of its own a number must still be exactly representable.
  const max = Math.min(rule.max, Number.MAX_SAFE_INTEGER);
  if (value >= rule.min && value <= max) return value;
  const [size, shownMax] =
    value > max ? ['large', max] : ['small', Number.isFinite(rule.max) ? max : 'infinity'];
  problems.add(name, `${rule.label} is too ${size}. Allowed range is ${rule.min} - ${shownMax}`);
  return otherwise;
}

/** Days between a deletion and the removal of its tombstone. */
export function purgeIntervalDays(form: Form, min: number, problems: ProblemSink): number | null {
  const name = 'purgeInterval';
  const sent = form[name];
  if (sent === undefined || sent === cleared) return null;
  const number = numberOf(sent);
  if (number === null) {
    problems.add(name, 'metadata purge interval must be a number');
    return null;
  }
  const days = Number(number.toFixed(15));
  return inRange(name, days, { label: 'metadata purge interval', min, max: 60 }, null, problems);
}
