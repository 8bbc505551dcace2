// The steps of changing the nodes of a cluster: new nodes join before others leave, so that there is always room for all documents.
import type { DatabaseUsersService } from '../database-users/database-users.service.ts';
import type { Plan } from '../operations/step.ts';
import { balanceNodes, removeLeaving } from './balance-nodes.ts';
import { joinNodes } from './join-nodes.ts';
import { fitQuota } from './memory-quota.ts';
import { changeCluster, type PlanParts } from './plan-parts.ts';
import { placeNodes, startNodes } from './start-nodes.ts';

export interface ScaleParts extends PlanParts {
  databaseUsers: Pick<DatabaseUsersService, 'applyRoles'>;
}

export const scaleCluster = (parts: ScaleParts): Plan => ({
  steps: [
    { name: 'place', run: (cluster) => placeNodes(parts, cluster) },
    { name: 'start', run: (cluster, cancellation) => startNodes(parts, cluster, cancellation) },
    { name: 'join', run: (cluster, cancellation) => joinNodes(parts, cluster, cancellation) },
    { name: 'balance', run: (cluster, cancellation) => balanceNodes(parts, cluster, cancellation) },
    { name: 'remove', run: (cluster) => removeLeaving(parts, cluster) },
    {
      name: 'quota',
      run: async (cluster) =>
        fitQuota(await parts.nodes.founderClient(cluster), await parts.nodes.rowsOf(cluster.id)),
    },
    { name: 'admit', run: (cluster) => parts.allowlist.apply(cluster) },
    {
      // Database users get the roles for queries once a node runs the query service.
      name: 'roles',
      run: async (row, cancellation) =>
        parts.databaseUsers.applyRoles({ row, client: await parts.nodes.founderClient(row) }, cancellation),
    },
    { name: 'publish', run: (cluster) => changeCluster(parts, cluster.id, { phase: 'ready' }) },
  ],
  // The nodes that earlier steps started may have stopped with the process of the cloud.
  resumeAt: 'start',
  failed: (transaction, id) => changeCluster({ ...parts, store: transaction }, id, { phase: 'scale_failed' }),
});
