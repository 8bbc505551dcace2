// The change of the map that a process requests where the map names its node active, but the in-sync set has an earlier process of the
// node.
import type { ShardChange, ShardSpec } from '../admin.ts';
import type { PeerConnections } from './peers.ts';

interface Restarted {
  readonly shard: number;
  readonly epoch: number;
  /** This node. */
  readonly self: string;
  readonly peers: Pick<PeerConnections, 'bootOf'>;
}

/**
 * This process may have lost acknowledged writes that were only in memory, so a member that did not restart becomes active. If all
 * others have restarted too, the last active continues: its disk has every write that was acknowledged as persisted.
 */
export function changesAfterRestart(
  { confirmed, epoch: current, inSync = [] }: ShardSpec,
  { epoch, peers, self, shard }: Restarted,
): ShardChange[] {
  const others = inSync.filter(({ node }) => node !== self);
  const successor = others.find(({ boot, node }) => peers.bootOf(node) === boot)?.node;
  if (successor !== undefined) return [{ shard, epoch: current, kind: 'stop', successor }];
  // This process was promoted and has never served: the active before it may have more on disk than any other, so no member can decide
  // which one continues. It waits for a member that did not restart, or for an operator, who fails the others over with `allowUnsafe`.
  if (confirmed === undefined) return [];
  const restarted = others.filter(({ node }) => peers.bootOf(node) !== null).map(({ node }) => node);
  return restarted.length < others.length ? [] : [{ shard, epoch, kind: 'confirm', restarted }];
}
