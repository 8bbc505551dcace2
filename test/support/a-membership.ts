// A NodeMembership for tests that neither join nor leave a cluster: its calls do nothing.
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
