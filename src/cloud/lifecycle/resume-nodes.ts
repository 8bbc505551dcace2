// What a start of the cloud does about nodes that were made before: those of ready clusters run again, or still; what is left
// of clusters that were deleted goes.
import type { Log } from '#ports/log.ts';
import type { ClusterNodes } from '../clusters/cluster-nodes.ts';
import type { NodeSpec, Provisioner } from '../provisioner/provisioner.ts';
import type { Store } from '../store/tables.ts';

const atOnce = 4;

export interface ResumeParts {
  store: Store;
  nodes: ClusterNodes;
  provisioner: Provisioner;
  home: string;
  log: Log;
}

/** Resolves when each was tried once: whoever sees the cloud up sees its clusters as they are. */
export async function resumeNodes(parts: ResumeParts): Promise<void> {
  await removeLeftovers(parts);
  const specs = await specsOf(parts);
  const next = async (): Promise<void> => {
    for (let spec = specs.pop(); spec !== undefined; spec = specs.pop()) await parts.provisioner.resume(spec);
  };
  await Promise.all(Array.from({ length: atOnce }, next));
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

/** Only of a cluster that this very database knows to be deleted: it may be another one, or one of last week. */
async function removeLeftovers({ store, provisioner, log }: ResumeParts): Promise<void> {
  const known = new Set((await store.selectFrom('nodes').select('id').execute()).map(({ id }) => id));
  for (const { id, clusterId } of await provisioner.kept()) {
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
