// Refusals of failovers and of the recovery of nodes.
import { defineRefusals } from '#contract/refusal.ts';

const published = true;

export const failoverRefusals = defineRefusals('failover', {
  noServer: { as: 'text', text: 'No server specified.', published },
  unknown: { as: 'text', text: 'Unknown server given: {names}', published },
  inactive: { as: 'text', text: 'Inactive server given.', published },
  lastActive: { as: 'text', text: 'Last active node cannot be failed over.', published },
  rebalancing: { status: 503, as: 'text', text: 'Rebalance running.', published },
  unsafe: {
    status: 504,
    as: 'text',
    text: 'Cannot safely perform a failover at the moment',
    when: 'This node reaches no majority of the active nodes, or only two nodes have documents and the other may still serve: `allowUnsafe=true` does it all the same, for a node that is certainly stopped.',
    published,
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
