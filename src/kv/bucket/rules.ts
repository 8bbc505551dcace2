// What an administrator decides for a bucket and may change while it runs.
import { Status } from '#wire/status.ts';
import type { BucketType } from '../admin.ts';
import { DurabilityLevel } from '../data/documents.ts';

export interface BucketRules {
  quotaBytes: number;
  /** Seconds, 0 = none. */
  maxTtl: number;
  durabilityMinLevel: DurabilityLevel;
  replicaNumber: number;
}

/** Whether this one node can give a level. With replicas asked for there is no majority of one. */
export function checkDurability(level: DurabilityLevel, type: BucketType, rules: BucketRules): Status {
  if (level === DurabilityLevel.none) return Status.success;
  if (type !== 'native' && level !== DurabilityLevel.majority) return Status.durabilityInvalidLevel;
  if (type === 'cache') return Status.durabilityInvalidLevel;
  return rules.replicaNumber > 0 ? Status.durabilityImpossible : Status.success;
}
