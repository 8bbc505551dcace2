// The internal settings that are defaults of replications once an operator has set them, unless `/settings/replications` sets the same parameter.
import type { InternalSettings } from '../internal-settings/internal-settings.ts';
import { integerRules, type ReplicationSettings } from './replication-settings.ts';

export const internalNames = {
  xdcrCheckpointInterval: 'checkpointInterval',
  xdcrDocBatchSizeKb: 'docBatchSizeKb',
  xdcrFailureRestartInterval: 'failureRestartInterval',
  xdcrOptimisticReplicationThreshold: 'optimisticReplicationThreshold',
  xdcrWorkerBatchSize: 'workerBatchSize',
} as const satisfies Partial<Record<keyof InternalSettings, keyof typeof integerRules>>;

/** A value above the maximum of the replication's setting counts as this maximum. */
export function replicationDefaults(chosen: Partial<InternalSettings>): Partial<ReplicationSettings> {
  const names = Object.keys(internalNames) as (keyof typeof internalNames)[];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = chosen[name];
      const setting = internalNames[name];
      return value === undefined ? [] : [[setting, Math.min(value, integerRules[setting].max)]];
    }),
  );
}
