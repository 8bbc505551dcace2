// The creation of a cluster, step by step. It is ready when a document went through the address that clients are told.
import type { Clock } from '#ports/clock.ts';
import { type ClusterNodes, placementOf } from '../clusters/cluster-nodes.ts';
import type { Phase } from '../clusters/phase.ts';
import type { Provisioner } from '../provisioner/provisioner.ts';
import type { ClusterRow, NodeRow, Store } from '../store/tables.ts';
import type { Plan } from './step.ts';

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
    { name: 'start', run: (cluster) => start(parts, cluster) },
    { name: 'admit', run: (cluster) => parts.allowlist.tell(cluster) },
    { name: 'certificate', run: (cluster) => keepCertificate(parts, cluster) },
    { name: 'probe', run: async (cluster) => (await parts.nodes.client(cluster)).probeDocument() },
    {
      name: 'publish',
      run: (cluster) => change(parts, cluster, { phase: 'ready', deployed_at: parts.clock.wallMs() }),
    },
  ],
  failed: (cluster) => change(parts, cluster, { phase: 'deploy_failed' }),
});

/** An address is written down before anything listens on it. A place that could not be used is taken anew. */
async function place({ store, provisioner, ...parts }: PlanParts, cluster: ClusterRow): Promise<void> {
  await change({ store, provisioner, ...parts }, cluster, { phase: 'deploying' });
  for (const node of await parts.nodes.of(cluster.id)) {
    if (node.address !== '') continue;
    const taken = await store.selectFrom('nodes').selectAll().where('address', '!=', '').execute();
    const { address, ports } = await provisioner.place(taken.map(placementOf));
    await store
      .updateTable('nodes')
      .set({ address, ports: JSON.stringify(ports) })
      .where('id', '=', node.id)
      .execute();
  }
}

async function start({ nodes, provisioner }: PlanParts, cluster: ClusterRow): Promise<void> {
  const rows = await nodes.of(cluster.id);
  await Promise.all(rows.map((node: NodeRow) => provisioner.start(nodes.spec(cluster, node))));
}

async function keepCertificate(parts: PlanParts, cluster: ClusterRow): Promise<void> {
  const client = await parts.nodes.client(cluster);
  await change(parts, cluster, { certificate: await client.certificate() });
}

/** A cluster that is being deleted keeps that phase whatever an older operation still does. */
async function change(
  { store, clock }: PlanParts,
  cluster: ClusterRow,
  values: Partial<ClusterRow> & { phase?: Phase },
): Promise<void> {
  await store
    .updateTable('clusters')
    .set({ ...values, updated_at: clock.wallMs() })
    .where('id', '=', cluster.id)
    .where('phase', '!=', 'destroying')
    .execute();
}
