// The forms of the auto-failover settings. Refusals are texts, one line per parameter.
import { integerOf } from '#base/decimal.ts';
import type { Form } from '#contract/route.ts';
import type { Edition } from '../config/cluster-state.ts';
import { Problems } from '../forms/problems.ts';
import { settingsRefusals } from '../refusals/settings.refusals.ts';
import type { AutoFailoverSettings, AutoReprovisionSettings } from './auto-failover.service.ts';

export interface ReadForm<T> {
  changes: Partial<T>;
  problems: Problems;
}

const timeoutRange: Record<Edition, readonly [number, number]> = {
  enterprise: [5, 3600],
  community: [30, 3600],
};
const diskPeriodRange = [5, 3600] as const;
const maxCountRange = [1, 100] as const;
const maxNodesMax = 2 ** 31 - 1;

export function readAutoFailover(form: Form, edition: Edition): ReadForm<AutoFailoverSettings> {
  const problems = new Problems();
  const enabled = boolean(form, 'enabled', problems);
  // As published: parameters that depend on failover are disabled with it, and others are not read.
  if (!enabled) return { changes: { enabled, diskIssues: false, canAbortRebalance: false }, problems };
  const timeout = within(form, 'timeout', timeoutRange[edition], problems);
  if (edition === 'community') return { changes: { enabled, timeout }, problems };
  const maxCount = ifSent(form, 'maxCount', () => within(form, 'maxCount', maxCountRange, problems));
  const canAbortRebalance = ifSent(form, 'canAbortRebalance', () =>
    boolean(form, 'canAbortRebalance', problems),
  );
  return {
    changes: {
      enabled,
      timeout,
      ...(maxCount !== undefined && { maxCount }),
      ...(canAbortRebalance !== undefined && { canAbortRebalance }),
      ...diskIssues(form, problems),
    },
    problems,
  };
}

const disk = { enabled: 'failoverOnDataDiskIssues[enabled]', period: 'failoverOnDataDiskIssues[timePeriod]' };

function diskIssues(form: Form, problems: Problems): Partial<AutoFailoverSettings> {
  if (form[disk.enabled] === undefined && form[disk.period] === undefined) return {};
  if (!boolean(form, disk.enabled, problems)) return { diskIssues: false };
  return { diskIssues: true, diskPeriod: within(form, disk.period, diskPeriodRange, problems) };
}

export function readAutoReprovision(form: Form): ReadForm<AutoReprovisionSettings> {
  const problems = new Problems();
  const enabled = boolean(form, 'enabled', problems);
  if (!enabled) return { changes: { enabled: false }, problems };
  const maxNodes = number(form['maxNodes']);
  if (!(maxNodes >= 1 && maxNodes <= maxNodesMax))
    problems.add('maxNodes', 'The value of "maxNodes" must be a positive integer');
  return { changes: { enabled, maxNodes }, problems };
}

/** Refuses with one line per parameter. */
export function refuseIfInvalid({ problems }: ReadForm<never> | ReadForm<object>): void {
  if (problems.any) throw settingsRefusals.invalidAutoFailover(Object.values(problems.fields));
}

const ifSent = <T>(form: Form, name: string, read: () => T): T | undefined =>
  form[name] === undefined ? undefined : read();

function boolean(form: Form, name: string, problems: Problems): boolean {
  const sent = form[name];
  if (sent !== 'true' && sent !== 'false') problems.add(name, `The value of "${name}" must be true or false`);
  return sent === 'true';
}

function within(form: Form, name: string, [min, max]: readonly [number, number], problems: Problems): number {
  const value = number(form[name]);
  if (!(value >= min && value <= max))
    problems.add(name, `The value of "${name}" must be a positive integer in a range from ${min} to ${max}`);
  return value;
}

const number = (sent: string | undefined): number => integerOf(sent ?? '') ?? Number.NaN;
