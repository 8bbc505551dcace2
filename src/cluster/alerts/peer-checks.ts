// Alerts about the other nodes of the cluster: nodes that this one cannot reach, and clocks that differ.
import { clockLimits } from '../joining/engaged-checks.ts';

/** What this node knows of another one. */
export interface PeerHealth {
  readonly name: string;
  /** How far its clock is ahead of this node's; null: not known. */
  readonly skewMs: number | null;
  /** For how long this node has received no heartbeat of that node, while other nodes receive them. */
  readonly cutOffMs: number;
}

const cutOffMsMax = 5 * 60_000;

/** Whether the clock of this node differs from those of most other nodes whose clock it knows. */
export function isOutOfSync(peers: readonly PeerHealth[]): boolean {
  const skews = peers.flatMap(({ skewMs }) => (skewMs === null ? [] : [Math.abs(skewMs)]));
  const differing = skews.filter((skewMs) => skewMs > clockLimits.refuseMs).length;
  return differing * 2 > skews.length;
}

/** The nodes whose heartbeats this one has not received for five minutes, although other nodes receive them. */
export const cutOffFrom = (peers: readonly PeerHealth[]): readonly string[] =>
  peers.filter(({ cutOffMs }) => cutOffMs >= cutOffMsMax).map(({ name }) => name);
