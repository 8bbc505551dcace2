// Refusals of failovers and of the recovery of nodes.
import { defineRefusals } from '#contract/refusal.ts';

const published = true;

export const failoverRefusals = defineRefusals('failover', {
  noServer: { as: 'text', text: 'No server specified.', published },
  unknown: { as: 'text', text: 'Unknown server given: {names}', published },
  inactive: { as: 'text', text: 'Inactive server given.', published },
  lastActive: { as: 'text', text: 'Last active node cannot be failed over.', published },
  stopped: { status: 409, as: 'text', text: 'Stopped by user.', published },
  rebalancing: { status: 503, as: 'text', text: 'Rebalance running.', published },
  unsafe: {
    status: 504,
    as: 'text',
    text: 'Cannot safely perform a failover at the moment',
    when: 'This node reaches no majority of the active nodes, or only two nodes have documents and the other may still serve. `allowUnsafe=true` fails the node over nevertheless; it is for a node that is certainly stopped.',
    published,
  },
  founderAway: {
    status: 504,
    as: 'text',
    text: 'The node {otpNode} stores the configuration of the cluster and cannot be reached. With allowUnsafe=true this node stores it from now on; changes that only {otpNode} has are lost.',
  },
  mayNotBecomeFounder: {
    as: 'text',
    text: 'The node that stores the configuration cannot be reached. Send the request to another active node, which then stores it.',
  },
  founderVotes: {
    status: 504,
    as: 'text',
    text: 'This node reaches no majority of the active nodes that are not named. Not reached: {names}. If some of these are down, name them in the request too, each as another otpNode.',
  },
  founderAlone: {
    as: 'text',
    text: 'The node {otpNode} stores the configuration, and there is no other node that could.',
  },
  founderStays: {
    status: 503,
    as: 'text',
    text: 'The node {otpNode} stores the configuration and could not hand it over: {reason}.',
  },
  founderChanging: {
    status: 503,
    as: 'text',
    text: 'Another node of the cluster is taking the configuration over. Try again.',
  },
  founderTaken: {
    status: 503,
    as: 'text',
    text: 'Another node of the cluster has taken the configuration over. Try again.',
  },
  losesShards: {
    as: 'text',
    text: 'Failover cannot be done gracefully (would lose vbuckets).',
    published,
  },
  noDataService: {
    as: 'text',
    text: 'Failover cannot be done gracefully for a node without data service. Use hard failover.',
    published,
  },
  failed: { status: 500, as: 'text', text: 'Unexpected server error: {reason}', published },
  unsafeValue: { as: 'text', text: 'allowUnsafe must be true or false.' },
  recoveryType: {
    as: 'bare',
    field: 'recoveryType',
    text: "recovery type must be either 'delta' or 'full'",
    published,
  },
  recoveryNode: {
    as: 'bare',
    field: 'otpNode',
    text: "invalid node name or node can't be used for delta recovery",
    published,
  },
  notRecovering: { as: 'empty', when: 'The node is not being recovered.' },
});
