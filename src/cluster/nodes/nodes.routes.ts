// Handlers of requests for the record of one node, and for the states of all nodes.

import { type BoundRoute, bind, type Context, reply } from '#contract/route.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { losesShards } from '../config/only-copies.ts';
import { nodeRefusals } from '../refusals/nodes.refusals.ts';
import { nodeAddress, nodeDetails, nodeRecord, nodeStatus, replicationOf } from './node-record.ts';
import type { NodeSnapshots } from './node-snapshots.ts';
import { GetNode, GetNodeStatuses, GetOwnNode } from './nodes.contract.ts';

export function nodeRoutes({
  view,
  snapshots,
}: {
  view: ClusterView;
  snapshots: NodeSnapshots;
}): BoundRoute[] {
  const detailed = async (context: Context, otpNode: string) => {
    const all = await snapshots.all(context);
    const snapshot = all.find(({ node }) => node.otpNode === otpNode);
    if (snapshot === undefined) throw nodeRefusals.unknownNode();
    const details = nodeDetails(snapshot, all, view.buckets);
    return reply.json({
      ...nodeRecord(snapshot),
      replication: replicationOfAll(view),
      ...details,
      ...view.cluster.quotas,
    });
  };
  return [
    bind(GetOwnNode, (_, context) => detailed(context, view.self.otpNode)),
    bind(GetNode, ({ params }, context) => detailed(context, params['node'] as string)),
    bind(GetNodeStatuses, (_, context) => {
      const statuses = snapshots.allStable(context).map((snapshot) => [
        nodeAddress(snapshot),
        {
          // A node whose buckets warm up counts as healthy: only the buckets are not ready.
          status: nodeStatus(snapshot) === 'unhealthy' ? 'unhealthy' : 'healthy',
          ...(nodeStatus(snapshot) !== 'unhealthy' && {
            gracefulFailoverPossible: canFailOverGracefully(view, snapshot.node),
          }),
          otpNode: snapshot.node.otpNode,
          dataless: !(snapshot.node.services ?? ['kv']).includes('kv'),
          replication: replicationOfAll(view),
        },
      ]);
      return reply.json(Object.fromEntries(statuses));
    }),
  ];
}

const canFailOverGracefully = (view: ClusterView, node: NodeState): boolean =>
  view.dataNodes.length > 1 && view.dataNodes.includes(node) && !losesShards(view, [node.uuid]);

/** The share of the configured replicas that are in sync, 0 to 1: that of the bucket with the lowest one. */
const replicationOfAll = (view: ClusterView): number =>
  Math.min(1, ...view.liveBuckets().map((bucket) => replicationOf(bucket, view.map(bucket.uuid))));
