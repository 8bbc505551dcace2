// The rules that a running bucket applies: settings that an administrator may change meanwhile, and the check of durability levels.
import { Status } from '#wire/status.ts';
import type { BucketSpec, BucketType } from '../admin.ts';
import { DurabilityLevel } from '../data/documents.ts';

export interface BucketRules {
  quotaBytes: number;
  /** Maximum time to live in seconds, 0 = none. */
  maxTtl: number;
  durabilityMinLevel: DurabilityLevel;
  replicaNumber: number;
  clockDriftMs?: BucketSpec['clockDriftMs'];
  /** Values are compressed in the background. */
  compresses?: boolean;
}

/** Whether a bucket of this type has a durability level, and the members of a vbucket's in-sync set can meet it. */
export function checkDurability(
  level: DurabilityLevel,
  type: BucketType,
  progress: { hasMajority(vb: number): boolean },
  vb: number,
): Status {
  if (level === DurabilityLevel.none) return Status.success;
  if (type !== 'native' && level !== DurabilityLevel.majority) return Status.durabilityInvalidLevel;
  if (type === 'cache') return Status.durabilityInvalidLevel;
  return progress.hasMajority(vb) ? Status.success : Status.durabilityImpossible;
}
