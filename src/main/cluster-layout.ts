// Which nodes have which vbuckets, for the services of this process that are clients of the data port.
import type { ClusterLayout } from '#client/cluster-routes.ts';
import type { KvDesired } from '#kv/admin.ts';

/** Null while this node is the only one, or has no certificate for connections to the others: its services then use its own data port only. */
export function clusterLayoutOf({ buckets, cluster }: KvDesired): ClusterLayout | null {
  if (cluster === undefined || cluster.tls === null) return null;
  const { self, peers, tls } = cluster;
  const actives = buckets.map(
    ({ name, shards = [] }) => [name, shards.map(({ active = null }) => active)] as const,
  );
  return { self: self.node, tls, nodes: peers, actives: Object.fromEntries(actives) };
}
