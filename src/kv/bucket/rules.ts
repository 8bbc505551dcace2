// Settings of a bucket that an administrator may change while it runs.
import { Status } from '#wire/status.ts';
import type { BucketType } from '../admin.ts';
import { DurabilityLevel } from '../data/documents.ts';

export interface BucketRules {
  quotaBytes: number;
  /** Maximum time to live in seconds, 0 = none. */
  maxTtl: number;
  durabilityMinLevel: DurabilityLevel;
  replicaNumber: number;
  /** Values are compressed in the background. */
  compresses?: boolean;
}

/** Whether this node alone can meet a durability level. With replicas configured, one node is no majority. */
export function checkDurability(level: DurabilityLevel, type: BucketType, rules: BucketRules): Status {
  if (level === DurabilityLevel.none) return Status.success;
  if (type !== 'native' && level !== DurabilityLevel.majority) return Status.durabilityInvalidLevel;
  if (type === 'cache') return Status.durabilityInvalidLevel;
  return rules.replicaNumber > 0 ? Status.durabilityImpossible : Status.success;
}
