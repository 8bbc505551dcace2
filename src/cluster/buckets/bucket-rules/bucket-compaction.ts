// Auto-compaction settings of one bucket, in place of the cluster's.
import { compactionRules, purgeIntervalDays } from '../../auto-compaction/rules.ts';
import type { BucketAutoCompaction, StoredBucket } from '../../config/cluster-state.ts';
import type { RuleInput } from './rule-input.ts';

export type BucketCompaction = Pick<StoredBucket, 'autoCompaction' | 'purgeIntervalDays'>;

const ephemeralPurgeDaysMin = 0.0007;
const nativePurgeDaysMin = 0.04;

export function bucketCompaction(input: RuleInput): BucketCompaction {
  switch (input.type) {
    case 'native':
      return nativeCompaction(input);
    case 'ephemeral':
      return ephemeralCompaction(input);
    case 'cache':
      return { autoCompaction: null, purgeIntervalDays: null };
  }
}

/** An ephemeral bucket has no files, so only the age of tombstones matters. */
function ephemeralCompaction(input: RuleInput): BucketCompaction {
  if (input.form['autoCompactionDefined'] !== undefined) {
    const text = 'autoCompactionDefined must not be set for ephemeral buckets';
    input.problems.add('autoCompactionDefined', text);
  }
  const sent = purgeIntervalDays(input.form, ephemeralPurgeDaysMin, input.problems);
  return { autoCompaction: null, purgeIntervalDays: sent ?? input.present?.purgeIntervalDays ?? 1 };
}

function nativeCompaction(input: RuleInput): BucketCompaction {
  const { form, present, problems } = input;
  const defined = form['autoCompactionDefined'];
  switch (defined) {
    case undefined:
      return {
        autoCompaction: present?.autoCompaction ?? null,
        purgeIntervalDays: present?.purgeIntervalDays ?? null,
      };
    case 'false':
      return { autoCompaction: null, purgeIntervalDays: null };
    case 'true':
      return {
        autoCompaction: compactionSettings(input),
        purgeIntervalDays:
          purgeIntervalDays(form, nativePurgeDaysMin, problems) ?? input.compaction.purgeIntervalDays,
      };
    default:
      problems.add('autoCompactionDefined', 'autoCompactionDefined is invalid');
      return { autoCompaction: null, purgeIntervalDays: null };
  }
}

/** Omitted values are copied from the cluster's current settings; later changes of the cluster's do not apply. */
function compactionSettings(input: RuleInput): BucketAutoCompaction {
  const { databaseFragmentationThreshold: database, viewFragmentationThreshold: view } = input.compaction;
  const settings = compactionRules(input.form, { database, view }, input.problems);
  const mode = indexCompactionMode(input);
  return mode === undefined ? settings : { ...settings, indexCompactionMode: mode };
}

/** Enterprise nodes ignore the mode, but refuse an unknown one. */
function indexCompactionMode({ form, edition, problems }: RuleInput): string | undefined {
  const sent = form['indexCompactionMode'];
  if (sent === undefined) return undefined;
  if (sent !== 'circular' && sent !== 'append') {
    problems.add('indexCompactionMode', 'index compaction mode must be one of ["circular","append"]');
  }
  return edition === 'enterprise' ? undefined : sent;
}
