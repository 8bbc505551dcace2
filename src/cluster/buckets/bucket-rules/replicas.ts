// Replicas: their number, replicas of view indexes, and the minimum durability level of writes.
import { integerOf } from '#base/decimal.ts';
import type { DurabilityMinLevel } from '../../config/cluster-state.ts';
import { type RuleInput, typeNames } from './rule-input.ts';

const replicasMax = 3;

export function replicaNumber(input: RuleInput): number {
  const before = input.present?.replicaNumber ?? (input.type === 'cache' ? 0 : 1);
  const sent = input.form['replicaNumber'];
  if (sent === undefined) return before;
  const number = integerOf(sent);
  const problem = replicaProblem(number, input);
  if (problem !== null) input.problems.add('replicaNumber', problem);
  return problem === null ? (number as number) : before;
}

function replicaProblem(number: number | null, input: RuleInput): string | null {
  if (input.type === 'cache') {
    return `replicaNumber is not valid for ${typeNames[input.vocabulary].cache} buckets`;
  }
  if (number === null) return 'The replica number must be specified and must be a non-negative integer.';
  if (number < 0) return 'The replica number cannot be negative.';
  if (number > replicasMax) return 'Replica number larger than 3 is not supported.';
  return null;
}

/** Fixed at creation; an edit's value is ignored. */
export function replicaIndex(input: RuleInput, replicas: number): boolean {
  if (input.present) return input.present.replicaIndex;
  const sent = input.form['replicaIndex'];
  if (sent === undefined) return input.type === 'native' && replicas > 0;
  if (input.type === 'ephemeral')
    input.problems.add('replicaIndex', 'replicaIndex not supported for ephemeral buckets');
  else if (sent !== '0' && sent !== '1')
    input.problems.add('replicaIndex', 'replicaIndex can only be 1 or 0');
  return input.type === 'native' && sent === '1';
}

const nativeLevels: readonly DurabilityMinLevel[] = [
  'none',
  'majority',
  'majorityAndPersistActive',
  'persistToMajority',
];
const ephemeralLevels: readonly DurabilityMinLevel[] = ['none', 'majority'];

/** Published clients read the second key, clients that follow the specification read the first. */
const durabilityKeys = ['durabilityMinLevel', 'durability_min_level'];

export function durabilityMinLevel(
  input: RuleInput,
  replicas: number,
  dataNodes: number,
): DurabilityMinLevel {
  // As published: the Kotlin SDK sends a level for a bucket of any type.
  if (input.type === 'cache') return 'none';
  const before = input.present?.durabilityMinLevel ?? 'none';
  const sent = input.form['durabilityMinLevel'];
  const level = sent === undefined ? before : levelsOf(input).find((candidate) => candidate === sent);
  const problem = level === undefined ? valueProblem(input) : reachProblem(level, replicas, dataNodes);
  // An edit that changes neither level nor replicas is not refused for them.
  const isUnchanged = input.present && sent === undefined && replicas === input.present.replicaNumber;
  if (problem !== null && !isUnchanged) for (const key of durabilityKeys) input.problems.add(key, problem);
  return level ?? before;
}

function levelsOf(input: RuleInput): readonly DurabilityMinLevel[] {
  return input.type === 'native' ? nativeLevels : ephemeralLevels;
}

function valueProblem(input: RuleInput): string {
  return input.type === 'ephemeral'
    ? "Durability minimum level must be either 'none' or 'majority' for ephemeral buckets"
    : "Durability minimum level must be one of 'none', 'majority', 'majorityAndPersistActive', or 'persistToMajority'";
}

/** A level that no write could reach would make the bucket read-only. */
function reachProblem(level: DurabilityMinLevel, replicas: number, dataNodes: number): string | null {
  if (level === 'none') return null;
  if (replicas === replicasMax) return 'Durability minimum level cannot be specified with 3 replicas';
  if (replicas > 0 && dataNodes === 1) {
    return 'You do not have enough data servers to support this durability level';
  }
  return null;
}

/**
 * The warning that is shown with errors, and by validation; null if there is none. As published, only a number that was sent causes a
 * warning.
 */
export function replicaWarning(input: RuleInput, replicas: number, dataNodes: number): string | null {
  if (input.type === 'cache' || input.form['replicaNumber'] === undefined) return null;
  const warnings: string[] = [];
  if (replicas > dataNodes - 1) {
    warnings.push('you do not have enough data servers or server groups to support this number of replicas');
  }
  if (input.present && input.present.replicaNumber !== replicas) {
    warnings.push('changing replica number may require rebalance');
  }
  return warnings.length === 0 ? null : `Warning: ${warnings.join(' and ')}.`;
}
