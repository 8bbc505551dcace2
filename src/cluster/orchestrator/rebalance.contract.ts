// Routes of rebalances.
import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';
import { reportPath } from './rebalance-report.ts';

const pools: Access = { kind: 'permission', permission: 'cluster.pools!write' };
const settings = { json: shape.object({ rebalanceMovesPerNode: shape.integer }) };

export const StartRebalance = defineRoute({
  id: 'rebalance.start',
  method: 'POST',
  path: '/controller/rebalance',
  access: pools,
  bodyKind: 'form',
  doc: 'Starts to spread the buckets over `knownNodes` without `ejectedNodes`, which leave the cluster at its end; returns at once. Both are lists of node names (`otpNode`), separated by commas. `deltaRecoveryBuckets` is such a list of bucket names; if a node is recovered by delta recovery, all of these buckets must exist.',
});

export const StopRebalance = defineRoute({
  id: 'rebalance.stop',
  method: 'POST',
  path: '/controller/stopRebalance',
  access: pools,
  bodyKind: 'form',
  doc: 'Stops the running rebalance: shards stay where they are.',
});

export const GetRebalanceSettings = defineRoute({
  id: 'rebalance.settings',
  method: 'GET',
  path: '/settings/rebalance',
  access: { kind: 'permission', permission: 'cluster.settings!read' },
  answer: settings,
  doc: 'How many shards of a node a rebalance moves at once.',
});

export const SetRebalanceSettings = defineRoute({
  id: 'rebalance.change_settings',
  method: 'POST',
  path: '/settings/rebalance',
  access: { kind: 'permission', permission: 'cluster.settings!write' },
  bodyKind: 'form',
  answer: settings,
  doc: 'Changes how many shards of a node a rebalance moves at once: `rebalanceMovesPerNode`, 1 to 64, 4 unless set.',
});

export const GetRebalanceReport = defineRoute({
  id: 'rebalance.report',
  method: 'GET',
  path: reportPath,
  access: { kind: 'permission', permission: 'cluster.admin.logs!read' },
  answer: {
    json: shape.object({
      rebalanceId: shape.string,
      operation: shape.oneOf('rebalance', 'gracefulFailover', 'failover'),
      nodesInfo: shape.object({
        keep_nodes: shape.array(shape.string),
        eject_nodes: shape.array(shape.string),
        failed_nodes: shape.array(shape.string),
      }),
      stageInfo: shape.any,
      startTime: shape.string,
      completedTime: shape.string,
      timeTaken: shape.integer,
      completionMessage: shape.string,
    }),
  },
  otherStatuses: { 404: 'There is no report of that rebalance.' },
  doc: 'How the last rebalance or failover ended, with the nodes that it concerned and its duration in milliseconds. `reportID` may name it, as `lastReportURI` of its task does; reports of earlier ones are not kept.',
});

const retryShape = {
  json: shape.object({ enabled: shape.boolean, afterTimePeriod: shape.integer, maxAttempts: shape.integer }),
};

export const GetRetrySettings = defineRoute({
  id: 'rebalance.retry_settings',
  method: 'GET',
  path: '/settings/retryRebalance',
  access: { kind: 'permission', permission: 'cluster.settings!read' },
  answer: retryShape,
  doc: 'Whether, when and how often a failed rebalance is tried again.',
});

export const SetRetrySettings = defineRoute({
  id: 'rebalance.change_retry_settings',
  method: 'POST',
  path: '/settings/retryRebalance',
  access: { kind: 'permission', permission: 'cluster.settings!write' },
  bodyKind: 'form',
  answer: retryShape,
  doc: 'Changes whether, when and how often a failed rebalance is tried again: `enabled` (required), `afterTimePeriod` in seconds (5 to 3600, 300 unless set), `maxAttempts` (1 to 3, 1 unless set).',
});

export const GetPendingRetry = defineRoute({
  id: 'rebalance.pending_retry',
  method: 'GET',
  path: '/pools/default/pendingRetryRebalance',
  access: { kind: 'permission', permission: 'cluster.tasks!read' },
  answer: { json: shape.any },
  doc: 'The failed rebalance that will be tried again.',
});

export const CancelRetry = defineRoute({
  id: 'rebalance.cancel_retry',
  method: 'POST',
  path: '/controller/cancelRebalanceRetry/:id',
  access: pools,
  doc: 'Cancels further attempts of that rebalance.',
});
