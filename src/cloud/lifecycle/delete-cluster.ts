// The steps of deleting a cluster: first its nodes and their data, then the rows that refer to them.

import { inParallel } from '../in-parallel.ts';
import type { Plan } from '../operations/step.ts';
import { lockRow } from '../store/lock-row.ts';
import type { ClusterRow } from '../store/tables.ts';
import type { PlanParts } from './plan-parts.ts';

export const deleteCluster = (parts: PlanParts): Plan => ({
  steps: [
    { name: 'remove', run: (cluster) => removeNodes(parts, cluster) },
    { name: 'free', run: (cluster) => deleteRows(parts, cluster) },
  ],
  failed: async (transaction, id) => {
    await transaction
      .updateTable('clusters')
      .set({ phase: 'destroy_failed', updated_at: parts.clock.wallMs() })
      .where('id', '=', id)
      .execute();
  },
});

async function removeNodes({ nodes, provisioner }: PlanParts, cluster: ClusterRow): Promise<void> {
  await inParallel(await nodes.rowsOf(cluster.id), ({ id }) => provisioner.remove(id));
}

async function deleteRows({ store }: PlanParts, { id }: ClusterRow): Promise<void> {
  await store.transaction().execute(async (transaction) => {
    await lockRow(transaction, 'clusters', id);
    await transaction.deleteFrom('allowlist').where('cluster_id', '=', id).execute();
    // In the order in which a change of a user locks them, so that PostgreSQL finds no deadlock.
    await transaction.deleteFrom('database_users').where('cluster_id', '=', id).execute();
    await transaction.deleteFrom('user_doubts').where('cluster_id', '=', id).execute();
    await transaction.deleteFrom('nodes').where('cluster_id', '=', id).execute();
    await transaction.deleteFrom('clusters').where('id', '=', id).execute();
  });
}
