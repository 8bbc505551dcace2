// The steps of creating a cluster. It is ready once a document was written and read through the address for clients.
import type { Clock } from '#ports/clock.ts';
import { type ClusterNodes, placementOf } from '../clusters/cluster-nodes.ts';
import type { Phase } from '../clusters/phase.ts';
import type { Plan } from '../operations/step.ts';
import { AddressInUseError, type Provisioner } from '../provisioner/provisioner.ts';
import type { ClusterRow, NodeRow, Store } from '../store/tables.ts';

export interface PlanParts {
  store: Store;
  nodes: ClusterNodes;
  provisioner: Provisioner;
  /** Applies the allowlist to the nodes; it is empty at first. */
  allowlist: { apply(cluster: ClusterRow): Promise<void> };
  clock: Clock;
}

export const createCluster = (parts: PlanParts): Plan => ({
  steps: [
    { name: 'place', run: (cluster) => place(parts, cluster) },
    { name: 'start', run: (cluster, cancellation) => start(parts, cluster, cancellation) },
    { name: 'admit', run: (cluster) => parts.allowlist.apply(cluster) },
    { name: 'certificate', run: (cluster) => storeCertificate(parts, cluster) },
    { name: 'probe', run: async (cluster) => (await parts.nodes.client(cluster)).probeDocument() },
    {
      name: 'publish',
      run: (cluster) => change(parts, cluster.id, { phase: 'ready', deployed_at: parts.clock.wallMs() }),
    },
  ],
  // Nodes stop with the cloud, and may have died since.
  resumeAt: 'start',
  failed: (transaction, id) => change({ ...parts, store: transaction }, id, { phase: 'deploy_failed' }),
});

async function place(parts: PlanParts, cluster: ClusterRow): Promise<void> {
  await change(parts, cluster.id, { phase: 'deploying' });
  await placeNodes(parts, cluster);
}

/** Stores an address before a node listens on it. */
async function placeNodes({ store, provisioner, nodes }: PlanParts, cluster: ClusterRow): Promise<void> {
  for (const node of await nodes.of(cluster.id)) {
    if (node.address !== '') continue;
    const taken = await store.selectFrom('nodes').selectAll().where('address', '!=', '').execute();
    const { address, ports } = await provisioner.place(taken.map(placementOf));
    await storePlacement(store, node.id, { address, ports: JSON.stringify(ports) });
  }
}

/** Chooses another address if an earlier attempt found it in use. */
async function start(parts: PlanParts, cluster: ClusterRow, cancellation: AbortSignal): Promise<void> {
  await placeNodes(parts, cluster);
  const rows = await parts.nodes.of(cluster.id);
  await Promise.all(rows.map((node: NodeRow) => startNode(parts, cluster, node, cancellation)));
}

/** A node that was never ready has no data: with another address it starts from scratch. */
async function startNode(
  { store, provisioner, nodes }: PlanParts,
  cluster: ClusterRow,
  node: NodeRow,
  cancellation: AbortSignal,
): Promise<void> {
  try {
    await provisioner.start(nodes.spec(cluster, node), cancellation);
  } catch (error) {
    if (error instanceof AddressInUseError) {
      await provisioner.remove(node.id);
      await storePlacement(store, node.id, { address: '', ports: '' });
    }
    throw error;
  }
}

async function storePlacement(
  store: Store,
  nodeId: string,
  place: { address: string; ports: string },
): Promise<void> {
  await store.updateTable('nodes').set(place).where('id', '=', nodeId).execute();
}

async function storeCertificate(parts: PlanParts, cluster: ClusterRow): Promise<void> {
  const client = await parts.nodes.client(cluster);
  await change(parts, cluster.id, { certificate: await client.certificate() });
}

/** A cluster being deleted keeps that phase, even if an older operation is still running. */
async function change(
  { store, clock }: PlanParts,
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
