// What the steps of all operations use, and the writes that several of them share.

import type { Clock } from '#ports/clock.ts';
import type { ClusterNodes } from '../clusters/cluster-nodes.ts';
import type { Phase } from '../clusters/phase.ts';
import type { Provisioner } from '../provisioner/provisioner.ts';
import type { ClusterRow, NodeRow, Store } from '../store/tables.ts';

export interface PlanParts {
  store: Store;
  nodes: ClusterNodes;
  provisioner: Provisioner;
  /** Applies the allowlist, which is empty in a new cluster, to the nodes. */
  allowlist: { apply(cluster: ClusterRow): Promise<void> };
  clock: Clock;
}

/** Changes nothing in a cluster that is being deleted, even if an older operation is still running: the cluster keeps that phase. */
export async function changeCluster(
  { store, clock }: Pick<PlanParts, 'store' | 'clock'>,
  clusterId: string,
  values: Partial<ClusterRow> & { phase?: Phase },
): Promise<void> {
  await store
    .updateTable('clusters')
    .set({ ...values, updated_at: clock.wallMs() })
    .where('id', '=', clusterId)
    .where('phase', '!=', 'destroying')
    .execute();
}

/** Columns of a node that has no address yet, or has lost it. */
export const noAddress = { address: '', ports: '' };

export async function changeNode(
  { store }: Pick<PlanParts, 'store'>,
  nodeId: string,
  values: Partial<NodeRow>,
): Promise<void> {
  await store.updateTable('nodes').set(values).where('id', '=', nodeId).execute();
}
