// Auto-compaction parameters that the cluster's settings and a bucket's own settings share.
import { integerOf, numberOf } from '#base/decimal.ts';
import type { Form } from '#contract/route.ts';
import type { BucketAutoCompaction, FragmentationThreshold, TimePeriod } from '../config/cluster-state.ts';

/** Error texts by parameter. */
export interface Complaints {
  add(key: string, text: string): void;
}

interface NumberRule {
  human: string;
  min: number;
  max: number;
}

/** The text `undefined` clears a number; that is how an unset one reads back. */
export const cleared = 'undefined';

/** Omitted parameters keep the cluster's value, except the period: without it there is none. */
export function compactionRules(
  form: Form,
  present: Record<'database' | 'view', FragmentationThreshold>,
  complaints: Complaints,
): BucketAutoCompaction {
  refuseBareNames(form, complaints);
  return {
    parallelDBAndViewCompaction: parallel(form, complaints),
    allowedTimePeriod: timePeriod(form, 'allowedTimePeriod', complaints),
    databaseFragmentationThreshold: threshold(form, 'database', present.database, complaints),
    viewFragmentationThreshold: threshold(form, 'view', present.view, complaints),
  };
}

function refuseBareNames(form: Form, complaints: Complaints): void {
  const bare = ['databaseFragmentationThreshold', 'viewFragmentationThreshold'].filter(
    (name) => form[name] !== undefined,
  );
  if (bare.length > 0) complaints.add('_', `Got unsupported fields: ${bare.join(' and ')}`);
}

function parallel(form: Form, complaints: Complaints): boolean {
  const name = 'parallelDBAndViewCompaction';
  if (form[name] === undefined) complaints.add(name, `${name} is missing`);
  return boolean(form, name, complaints);
}

function threshold(
  form: Form,
  kind: 'database' | 'view',
  present: FragmentationThreshold,
  complaints: Complaints,
): FragmentationThreshold {
  const name = `${kind}FragmentationThreshold`;
  const percentage = { human: `${kind} fragmentation`, min: 2, max: 100 };
  const size = { human: `${kind} fragmentation size`, min: 1, max: Number.POSITIVE_INFINITY };
  return {
    percentage: numberField(form, `${name}[percentage]`, percentage, present.percentage, complaints),
    sizeMb: numberField(form, `${name}[size]`, size, present.sizeMb, complaints),
  };
}

/** Without it there is no period: compaction may run at any time. */
function timePeriod(form: Form, name: string, complaints: Complaints): TimePeriod | null {
  const period = wholePeriod(form, name, complaints);
  if (period && period.fromHour === period.toHour && period.fromMinute === period.toMinute)
    complaints.add(name, 'Start time must not be the same as end time');
  return period;
}

/** Requires all five parts or none. */
export function wholePeriod(form: Form, name: string, complaints: Complaints): TimePeriod | null {
  const parts = ['fromHour', 'fromMinute', 'toHour', 'toMinute', 'abortOutside'];
  const given = parts.filter((part) => form[`${name}[${part}]`] !== undefined);
  if (given.length === 0) return null;
  const hours = (part: string, human: string, max: number) =>
    numberField(form, `${name}[${part}]`, { human, min: 0, max }, 0, complaints) ?? 0;
  const period: TimePeriod = {
    fromHour: hours('fromHour', 'from hour', 23),
    fromMinute: hours('fromMinute', 'from minute', 59),
    toHour: hours('toHour', 'to hour', 23),
    toMinute: hours('toMinute', 'to minute', 59),
    abortOutside: boolean(form, `${name}[abortOutside]`, complaints),
  };
  if (given.length < parts.length) {
    const text = 'Must specify all of the following: fromHour, fromMinute, toHour, toMinute, abortOutside';
    complaints.add(name, text);
  }
  return period;
}

function boolean(form: Form, name: string, complaints: Complaints): boolean {
  const sent = form[name];
  if (sent !== undefined && sent !== 'true' && sent !== 'false') complaints.add(name, `${name} is invalid`);
  return sent === 'true';
}

export function numberField(
  form: Form,
  name: string,
  rule: NumberRule,
  absent: number | null,
  complaints: Complaints,
): number | null {
  const sent = form[name];
  if (sent === undefined) return absent;
  if (sent === cleared) return null;
  const value = integerOf(sent);
  if (value !== null) return inRange(name, value, rule, absent, complaints);
  complaints.add(name, `${rule.human} must be an integer`);
  return absent;
}

function inRange(
  name: string,
  value: number,
  rule: NumberRule,
  absent: number | null,
  complaints: Complaints,
): number | null {
  // Without a bound of its own a number must still be exactly representable.
  const max = Math.min(rule.max, Number.MAX_SAFE_INTEGER);
  if (value >= rule.min && value <= max) return value;
  const [size, shownMax] =
    value > max ? ['large', max] : ['small', Number.isFinite(rule.max) ? max : 'infinity'];
  complaints.add(name, `${rule.human} is too ${size}. Allowed range is ${rule.min} - ${shownMax}`);
  return absent;
}

/** Days between a deletion and the removal of its tombstone. */
export function purgeIntervalDays(form: Form, min: number, complaints: Complaints): number | null {
  const name = 'purgeInterval';
  const sent = form[name];
  if (sent === undefined || sent === cleared) return null;
  const number = numberOf(sent);
  if (number === null) {
    complaints.add(name, 'metadata purge interval must be a number');
    return null;
  }
  const days = Number(number.toFixed(15));
  return inRange(name, days, { human: 'metadata purge interval', min, max: 60 }, null, complaints);
}
