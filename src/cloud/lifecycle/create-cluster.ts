// The steps of creating a cluster. It is ready once documents were written and read through the addresses for clients.
import { deleteBucket } from '../buckets/buckets.service.ts';
import { inParallel } from '../in-parallel.ts';
import { probeBucket } from '../node-client/node-client.ts';
import type { Plan } from '../operations/step.ts';
import type { ClusterRow } from '../store/tables.ts';
import { balanceNodes } from './balance-nodes.ts';
import { joinNodes } from './join-nodes.ts';
import { changeCluster, type PlanParts } from './plan-parts.ts';
import { placeNodes, startNodes } from './start-nodes.ts';

export const createCluster = (parts: PlanParts): Plan => ({
  steps: [
    { name: 'place', run: (cluster) => beginDeployment(parts, cluster) },
    { name: 'start', run: (cluster, cancellation) => startNodes(parts, cluster, cancellation) },
    { name: 'join', run: (cluster, cancellation) => joinNodes(parts, cluster, cancellation) },
    { name: 'balance', run: (cluster, cancellation) => balanceNodes(parts, cluster, cancellation) },
    { name: 'admit', run: (cluster) => parts.allowlist.apply(cluster) },
    { name: 'certificate', run: (cluster) => storeCertificate(parts, cluster) },
    { name: 'probe', run: (cluster) => probe(parts, cluster) },
    {
      name: 'publish',
      run: (cluster) =>
        changeCluster(parts, cluster.id, { phase: 'ready', deployed_at: parts.clock.wallMs() }),
    },
  ],
  // The nodes that earlier steps started may have stopped with the process of the cloud.
  resumeAt: 'start',
  failed: (transaction, id) =>
    changeCluster({ ...parts, store: transaction }, id, { phase: 'deploy_failed' }),
});

async function beginDeployment(parts: PlanParts, cluster: ClusterRow): Promise<void> {
  await changeCluster(parts, cluster.id, { phase: 'deploying' });
  await placeNodes(parts, cluster);
}

async function storeCertificate(parts: PlanParts, cluster: ClusterRow): Promise<void> {
  const client = await parts.nodes.founderClient(cluster);
  await changeCluster(parts, cluster.id, { certificate: await client.certificate() });
}

/** Writes and reads a document through each node that runs the data service, in a temporary bucket. */
async function probe({ nodes }: PlanParts, cluster: ClusterRow): Promise<void> {
  const founder = await nodes.founderClient(cluster);
  await founder.createProbeBucket();
  try {
    await inParallel(await nodes.dataClients(cluster), (client) => client.writeAndRead());
  } finally {
    await deleteBucket(founder, probeBucket);
  }
}
