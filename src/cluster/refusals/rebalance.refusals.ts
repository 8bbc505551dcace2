// Refusals of requests about rebalances.
import { defineRefusals } from '#contract/refusal.ts';

export const rebalanceRefusals = defineRefusals('rebalance', {
  noKnownNodes: {
    value: () => ({ empty_known_nodes: 1 }),
    sample: '{"empty_known_nodes":1}',
    when: 'knownNodes is missing or empty.',
  },
  mismatch: {
    value: () => ({ mismatch: 1 }),
    sample: '{"mismatch":1}',
    when: 'knownNodes are not exactly the nodes of the cluster, or ejectedNodes are not among them.',
  },
  noDelta: {
    value: () => ({ deltaRecoveryNotPossible: 1 }),
    sample: '{"deltaRecoveryNotPossible":1}',
    when: 'A node is recovered by delta recovery, and deltaRecoveryBuckets names a bucket that does not exist.',
  },
  noActiveNodes: { as: 'text', text: 'No active nodes left', published: true },
  noDataNodes: {
    value: () => ({ noKVNodesLeft: 1 }),
    sample: '{"noKVNodesLeft":1}',
    when: 'No node that stays runs the data service.',
  },
  noReport: {
    status: 404,
    as: 'text',
    text: 'There is no report of that rebalance: only that of the last one is kept. `lastReportURI` of the task names it.',
  },
  founder: {
    status: 503,
    as: 'text',
    text: 'The node {otpNode} has just become the one that stores the configuration. Try again.',
  },
  joining: {
    as: 'text',
    text: 'The node {otpNode} is still being added. Try again once it has joined the cluster, or remove it.',
  },
  server: {
    as: 'text',
    text: 'The node {otpNode} runs one of the three NATS servers that store the configuration, and no node that stays can run it. Add a node with --engine nats first, or fail this one over if it is lost.',
    when: 'A node of a cluster with `--engine nats` leaves.',
  },
  serversStay: {
    status: 503,
    as: 'text',
    text: 'The node {otpNode} runs one of the three NATS servers that store the configuration, and the configuration cannot move to another node now: {reason}.',
    when: 'Fewer than three nodes of a cluster with `--engine nats` would be left, or a node with a server leaves, and no node that stays can start another server.',
  },
});
