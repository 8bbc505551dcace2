// The memory quota of a bucket within the quota of all buckets.
import { integerOf } from '#base/decimal.ts';
import type { RuleInput } from './rule-input.ts';

const quotaMbMin = 100;
/** Keeps a sum of quotas in bytes an exact number. */
const quotaMbMax = 2 ** 32;

/** The published server prefers `ramQuota` if both names are sent; problems are reported under the name used. */
export const quotaKey = (input: Pick<RuleInput, 'form'>): 'ramQuotaMB' | 'ramQuota' =>
  input.form['ramQuota'] === undefined ? 'ramQuotaMB' : 'ramQuota';

/** Returns the quota in megabytes per node; null after a problem. */
export function ramQuotaMb(input: RuleInput): number | null {
  const key = quotaKey(input);
  const sent = input.form[key];
  if (sent === undefined && input.present) return input.present.ramQuotaMb;
  const quota = sent === undefined ? null : integerOf(sent);
  const problem = quotaProblem(quota);
  if (problem !== null) input.problems.add(key, problem);
  return problem === null ? quota : null;
}

function quotaProblem(quota: number | null): string | null {
  if (quota === null) return 'The RAM Quota must be specified and must be a positive integer.';
  if (quota < 0) return 'The RAM Quota cannot be negative.';
  if (quota < quotaMbMin) return `RAM quota cannot be less than ${quotaMbMin} MB`;
  if (quota > quotaMbMax) return 'RAM quota specified is too large to be provisioned into this cluster.';
  return null;
}

/** Additional memory assumed for other buckets: a client's what-if parameter. */
export function sentOtherQuotasMb(input: RuleInput): number {
  const sent = input.form['otherBucketsRamQuotaMB'];
  if (sent === undefined) return 0;
  const quota = integerOf(sent);
  if (quota !== null && quota >= 0 && quota <= quotaMbMax) return quota;
  input.problems.add('otherBucketsRamQuotaMB', 'The other buckets RAM Quota must be a positive integer.');
  return 0;
}
