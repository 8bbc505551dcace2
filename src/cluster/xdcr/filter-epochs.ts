// Which checkpoints a replication continues from. A checkpoint says what arrived under one filter: it is valid for another one only if
// the filter was changed with `filterSkipRestream=true`. Checkpoints carry the epoch of their filter.
import { createHash } from 'node:crypto';
import type { Random } from '#ports/random.ts';

const epochsMax = 20;

/**
 * The epochs of a new replication: a hash of its filter, so that a replication that is created again with the same filter continues from
 * the checkpoints of the deleted one. Without a filter the epoch is the empty string.
 */
export const firstEpochs = (expression: string): readonly string[] => [
  expression === '' ? '' : createHash('sha256').update(expression).digest('hex').slice(0, 32),
];

/** The epochs after a change of the filter, newest first. `isContinued` (`filterSkipRestream`): checkpoints of earlier filters stay valid. */
export const nextEpochs = (
  epochs: readonly string[],
  isContinued: boolean,
  random: Random,
): readonly string[] => [random.uuid(), ...(isContinued ? epochs.slice(0, epochsMax - 1) : [])];
