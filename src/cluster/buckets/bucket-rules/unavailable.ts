// Parameters of published versions that have no effect here: only the values that describe the actual behaviour are accepted.
import { integerOf } from '#base/decimal.ts';
import { vbucketCount } from '#client/document-key.ts';
import type { RuleInput } from './rule-input.ts';

/** Only one storage engine exists here; a request for the other is refused instead of silently using this one. */
export function storageBackend(input: RuleInput): void {
  const sent = input.form['storageBackend'];
  if (sent === undefined || sent === 'couchstore' || input.present || input.type !== 'native') return;
  const text = backendProblem(sent, input);
  // Published servers report some of these problems under `storage_mode`.
  for (const key of ['storageBackend', 'storage_mode']) input.problems.add(key, text);
}

function backendProblem(sent: string, input: RuleInput): string {
  if (sent !== 'magma') return 'storage backend must be couchstore or magma';
  return input.edition === 'community'
    ? 'Magma is supported in enterprise edition only'
    : 'storage backend magma is not available in this version, use couchstore';
}

const previewText = 'Point in time recovery is only supported in developer preview mode';

/** Point-in-time recovery cannot be enabled; its parameters are accepted with the values that bucket records show. */
export function pointInTimeRecovery(input: RuleInput): void {
  const { pitrEnabled, pitrGranularity, pitrMaxHistoryAge } = input.form;
  if (pitrEnabled !== undefined && pitrEnabled !== 'false') {
    const text = pitrEnabled === 'true' ? previewText : 'pitrEnabled must be true or false';
    input.problems.add('pitrEnabled', text);
  }
  if (pitrGranularity !== undefined && integerOf(pitrGranularity) !== pitrDefaults.granularity) {
    input.problems.add('pitrGranularity', previewText);
  }
  if (pitrMaxHistoryAge !== undefined && integerOf(pitrMaxHistoryAge) !== pitrDefaults.maxHistoryAge) {
    input.problems.add('pitrMaxHistoryAge', previewText);
  }
}

/** Seconds. */
export const pitrDefaults = { granularity: 600, maxHistoryAge: 86_400 };

const historyNames = [
  'historyRetentionBytes',
  'historyRetentionSeconds',
  'historyRetentionCollectionDefault',
];

/** Refuses any history retention, since this version keeps no history. */
export function historyRetention({ form, problems }: RuleInput): void {
  for (const name of historyNames) {
    if (form[name] === undefined || ['0', 'false'].includes(form[name])) continue;
    problems.add(
      name,
      'History retention needs storage backend magma, which is not available in this version',
    );
  }
}

export function vbucketNumber({ form, problems, present, type }: RuleInput): void {
  const sent = form['numVBuckets'];
  if (sent === undefined || present || type === 'cache' || integerOf(sent) === vbucketCount) return;
  problems.add('numVBuckets', `The number of vbuckets must be ${vbucketCount}`);
}
