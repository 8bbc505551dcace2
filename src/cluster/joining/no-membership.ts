// A node without a data folder of its own, as in tests and simulations: it is alone in its cluster.
import type { NodeNet } from '../peers/inter-node.ts';
import type { NodeMembership } from './join-messages.ts';

const problem = 'This node cannot be in a cluster of several nodes.';

const refused = (): never => {
  throw new Error(problem);
};

export const noMembership: NodeMembership = {
  engineProblem: problem,
  natsSource: () => null,
  isFounder: true,
  clusterKey: refused,
  founderMoved: () => {},
  join: refused,
  leave: () => {},
  founderTransfer: null,
  engineTransfer: null,
};

export const noNet: NodeNet = { connect: () => Promise.reject(new Error(problem)), channelOf: refused };
