// At the start of the cloud: starts the nodes of serving clusters unless they still run, and removes nodes that remain of deleted clusters.
import type { Log } from '#ports/log.ts';
import type { ClusterNodes } from '../clusters/cluster-nodes.ts';
import { servingPhases } from '../clusters/phase.ts';
import { inParallel } from '../in-parallel.ts';
import type { NodeSpec, Provisioner } from '../provisioner/provisioner.ts';
import type { Store } from '../store/tables.ts';

export interface ResumeParts {
  store: Store;
  nodes: ClusterNodes;
  provisioner: Provisioner;
  home: string;
  log: Log;
}

/** Resolves after one attempt for each node, so that a started cloud reports the real state of its clusters. */
export async function resumeNodes(parts: ResumeParts): Promise<void> {
  await removeLeftovers(parts);
  // Founders first: the other nodes of their clusters wait for them.
  await inParallel(await specsOf(parts), (spec) => parts.provisioner.resume(spec));
}

async function specsOf({ store, nodes, home }: ResumeParts): Promise<NodeSpec[]> {
  const clusters = await store
    .selectFrom('clusters')
    .selectAll()
    .where('home', '=', home)
    .where('phase', 'in', servingPhases)
    .execute();
  const specs = clusters.map(async (cluster) =>
    (await nodes.rowsOf(cluster.id))
      .filter(({ address, state }) => address !== '' && state !== 'new')
      .map((node) => nodes.spec(cluster, node)),
  );
  const all = await Promise.all(specs);
  return [...all.flatMap(([founder]) => founder ?? []), ...all.flatMap(([, ...others]) => others)];
}

/** Removes only nodes of clusters that this database records as deleted: after a restore of an older database other clusters may exist. */
async function removeLeftovers({ store, provisioner, log }: ResumeParts): Promise<void> {
  const nodeIds = new Set((await store.selectFrom('nodes').select('id').execute()).map(({ id }) => id));
  for (const { id, clusterId } of await provisioner.existingNodes()) {
    if (nodeIds.has(id)) continue;
    const deleted = await store
      .selectFrom('operations')
      .select('id')
      .where('cluster_id', '=', clusterId)
      .where('kind', '=', 'delete')
      .where('state', '=', 'done')
      .executeTakeFirst();
    if (deleted === undefined) log.warn('node.unknown', { node: id, cluster: clusterId });
    else await provisioner.remove(id);
  }
}
