// At the start of the cloud: starts the nodes of ready clusters unless they still run, and removes remnants of deleted clusters.
import type { Log } from '#ports/log.ts';
import type { ClusterNodes } from '../clusters/cluster-nodes.ts';
import type { NodeSpec, Provisioner } from '../provisioner/provisioner.ts';
import type { Store } from '../store/tables.ts';

const concurrentMax = 4;

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
  const specs = await specsOf(parts);
  const next = async (): Promise<void> => {
    for (let spec = specs.pop(); spec !== undefined; spec = specs.pop()) await parts.provisioner.resume(spec);
  };
  await Promise.all(Array.from({ length: concurrentMax }, next));
}

async function specsOf({ store, nodes, home }: ResumeParts): Promise<NodeSpec[]> {
  const clusters = await store
    .selectFrom('clusters')
    .selectAll()
    .where('home', '=', home)
    .where('phase', '=', 'ready')
    .execute();
  const specs = clusters.map(async (cluster) =>
    (await nodes.of(cluster.id)).map((node) => nodes.spec(cluster, node)),
  );
  return (await Promise.all(specs)).flat();
}

/** Removes only nodes of clusters that this database records as deleted: after a restore of an older database other clusters may exist. */
async function removeLeftovers({ store, provisioner, log }: ResumeParts): Promise<void> {
  const known = new Set((await store.selectFrom('nodes').select('id').execute()).map(({ id }) => id));
  for (const { id, clusterId } of await provisioner.existingNodes()) {
    if (known.has(id)) continue;
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
