// The part of a data folder in joining and leaving, which does nothing.
import type { NodeMembership } from '../../src/cluster/joining/join-messages.ts';

export const aMembership = (changes: Partial<NodeMembership> = {}): NodeMembership => ({
  engineProblem: null,
  isFounder: true,
  clusterKey: () => new Uint8Array(32),
  natsSource: () => null,
  founderMoved: () => {},
  join: () => {},
  leave: () => {},
  founderTransfer: null,
  engineTransfer: null,
  ...changes,
});
