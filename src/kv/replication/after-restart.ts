// The change of the map that a process requests where the map names its node active, but the in-sync set has an earlier process of the
// node, whose memory is lost.
import type { ShardChange, ShardSpec } from '../admin.ts';
import { type ContinuedBoots, firstComplete } from './continued-boots.ts';

interface Restarted {
  readonly shard: number;
  readonly epoch: number;
  /** This node. */
  readonly self: string;
  readonly boots: Pick<ContinuedBoots, 'stateOf'>;
}

/**
 * This process may have lost acknowledged writes that were only in memory, so a member that has everything it received becomes active. If all others
 * have restarted too, the last active continues: its disk has every write that was acknowledged as persisted. Where this process was promoted
 * and has never served, or its disk lacked some of the shard when it confirmed, the last active is the one before it.
 */
export function changesAfterRestart(
  { confirmed, epoch: current, inSync = [], lastActive }: ShardSpec,
  { boots, epoch, self, shard }: Restarted,
): ShardChange[] {
  const others = inSync.filter(({ node }) => node !== self);
  const states = others.map((member) => boots.stateOf(member));
  const handOverTo = (successor: string): ShardChange[] => [
    { shard, epoch: current, kind: 'stop', successor },
  ];
  const complete = firstComplete(others, boots);
  if (complete !== undefined) return handOverTo(complete.node);
  if (states.includes('unknown')) return [];
  const restarted = others.map(({ node }) => node);
  const last = lastActive ?? (confirmed === undefined ? undefined : self);
  if (last === self) return [{ shard, epoch, kind: 'confirm', restarted }];
  // If the last active is unknown, only an operator can say which node continues: the disk of another node may have more than this one.
  return last !== undefined && restarted.includes(last) ? handOverTo(last) : [];
}
