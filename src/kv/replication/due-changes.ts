// The changes of one write of the map: confirmations of this process, or else changes of in-sync sets and actives.
import type { ShardChange } from '../admin.ts';
import type { ActiveShard } from './active-shard.ts';

interface Active extends Pick<ActiveShard, 'wantedChange'> {
  readonly handover: Pick<ActiveShard['handover'], 'isUnderWay'>;
}

/**
 * While a shard is handed over, copies join in-sync sets only in the write of the map that has the stop of the shard: requests for the shard wait
 * for the stop, which could be written only after an earlier write with the joins.
 */
export function dueChanges(
  confirms: readonly ShardChange[],
  actives: Iterable<Active>,
): readonly ShardChange[] {
  if (confirms.length > 0) return confirms;
  let isStopNear = false;
  const wanted: ShardChange[] = [];
  for (const active of actives) {
    const change = active.wantedChange();
    if (change !== null) wanted.push(change);
    isStopNear ||= active.handover.isUnderWay;
  }
  const waits = isStopNear && !wanted.some(({ kind }) => kind === 'stop');
  return waits ? wanted.filter(({ kind }) => kind !== 'join') : wanted;
}
