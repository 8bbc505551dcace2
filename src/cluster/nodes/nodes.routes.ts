// Handlers that describe single nodes.

import { type BoundRoute, bind, type Context, reply } from '#contract/route.ts';
import type { ClusterView } from '../config/cluster-view.ts';
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
  const detailed = async (context: Context) => {
    const snapshot = await snapshots.now(context);
    const details = nodeDetails(snapshot, view.buckets);
    return reply.json({
      ...nodeRecord(snapshot),
      replication: replicationOfAll(view),
      ...details,
      ...view.cluster.quotas,
    });
  };
  return [
    bind(GetOwnNode, (_, context) => detailed(context)),
    bind(GetNode, ({ params }, context) => {
      if (params['node'] !== view.self.otpNode) throw nodeRefusals.unknownNode();
      return detailed(context);
    }),
    bind(GetNodeStatuses, (_, context) => {
      const snapshot = snapshots.stable(context);
      return reply.json({
        [nodeAddress(snapshot)]: {
          // A warming node counts as healthy: only its buckets are not ready.
          status: nodeStatus(snapshot) === 'unhealthy' ? 'unhealthy' : 'healthy',
          gracefulFailoverPossible: false,
          otpNode: snapshot.node.otpNode,
          dataless: false,
          replication: replicationOfAll(view),
        },
      });
    }),
  ];
}

/** The worst bucket decides. */
const replicationOfAll = (view: ClusterView): number => Math.min(1, ...view.liveBuckets().map(replicationOf));
