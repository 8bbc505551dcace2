// The creation of a cluster, step by step. It is ready when a document went through the address that clients are told.
import type { Clock } from '#ports/clock.ts';
import { type ClusterNodes, placementOf } from '../clusters/cluster-nodes.ts';
import type { Phase } from '../clusters/phase.ts';
import type { Plan } from '../operations/step.ts';
import { PlaceTakenError, type Provisioner } from '../provisioner/provisioner.ts';
import type { ClusterRow, NodeRow, Store } from '../store/tables.ts';

export interface PlanParts {
  store: Store;
  nodes: ClusterNodes;
  provisioner: Provisioner;
  /** Tells nodes whom to take connections from: nobody at first. */
  allowlist: { tell(cluster: ClusterRow): Promise<void> };
  clock: Clock;
}

export const createCluster = (parts: PlanParts): Plan => ({
  steps: [
    { name: 'place', run: (cluster) => place(parts, cluster) },
    { name: 'start', run: (cluster, givenUp) => start(parts, cluster, givenUp) },
    { name: 'admit', run: (cluster) => parts.allowlist.tell(cluster) },
    { name: 'certificate', run: (cluster) => keepCertificate(parts, cluster) },
    { name: 'probe', run: async (cluster) => (await parts.nodes.client(cluster)).probeDocument() },
    {
      name: 'publish',
      run: (cluster) => change(parts, cluster.id, { phase: 'ready', deployed_at: parts.clock.wallMs() }),
    },
  ],
  // Nodes end with a cloud that is stopped, and may have died while none ran.
  backTo: 'start',
  failed: (transaction, id) => change({ ...parts, store: transaction }, id, { phase: 'deploy_failed' }),
});

async function place(parts: PlanParts, cluster: ClusterRow): Promise<void> {
  await change(parts, cluster.id, { phase: 'deploying' });
  await placeNodes(parts, cluster);
}

/** An address is written down before anything listens on it. */
async function placeNodes({ store, provisioner, nodes }: PlanParts, cluster: ClusterRow): Promise<void> {
  for (const node of await nodes.of(cluster.id)) {
    if (node.address !== '') continue;
    const taken = await store.selectFrom('nodes').selectAll().where('address', '!=', '').execute();
    const { address, ports } = await provisioner.place(taken.map(placementOf));
    await keepPlace(store, node.id, { address, ports: JSON.stringify(ports) });
  }
}

/** Places anew what an earlier try found taken. */
async function start(parts: PlanParts, cluster: ClusterRow, givenUp: AbortSignal): Promise<void> {
  await placeNodes(parts, cluster);
  const rows = await parts.nodes.of(cluster.id);
  await Promise.all(rows.map((node: NodeRow) => startNode(parts, cluster, node, givenUp)));
}

/** A node that was not ready yet has nothing to lose: with another place it begins from nothing. */
async function startNode(
  { store, provisioner, nodes }: PlanParts,
  cluster: ClusterRow,
  node: NodeRow,
  givenUp: AbortSignal,
): Promise<void> {
  try {
    await provisioner.start(nodes.spec(cluster, node), givenUp);
  } catch (error) {
    if (error instanceof PlaceTakenError) {
      await provisioner.remove(node.id);
      await keepPlace(store, node.id, { address: '', ports: '' });
    }
    throw error;
  }
}

async function keepPlace(
  store: Store,
  nodeId: string,
  place: { address: string; ports: string },
): Promise<void> {
  await store.updateTable('nodes').set(place).where('id', '=', nodeId).execute();
}

async function keepCertificate(parts: PlanParts, cluster: ClusterRow): Promise<void> {
  const client = await parts.nodes.client(cluster);
  await change(parts, cluster.id, { certificate: await client.certificate() });
}

/** A cluster that is being deleted keeps that phase whatever an older operation still does. */
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
