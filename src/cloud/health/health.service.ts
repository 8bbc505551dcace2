// Computes the health of a cluster from its nodes' answers; a node that does not answer is unhealthy.
import type { NodeClient } from '../node-client/node-client.ts';
import { UnresponsiveNodeError } from '../node-client/refusals.ts';
import type { ClusterHealth } from './health.contract.ts';

interface NodesReply {
  nodes: { hostname: string; status: string; services: string[]; clusterMembership: string }[];
}
interface BucketReply {
  name: string;
  nodes: { status: string }[];
}

const serviceNames: Readonly<Record<string, string>> = {
  kv: 'data',
  n1ql: 'query',
  fts: 'search',
  cbas: 'analytics',
};

type Stats = Required<Pick<ClusterHealth, 'health' | 'bucketStats' | 'nodeStats'>> &
  Pick<ClusterHealth, 'reason'>;

export async function healthOf(client: NodeClient, nodeNames: readonly string[]): Promise<Stats> {
  try {
    const { nodes } = JSON.parse(await client.requestHealth('/pools/default')) as NodesReply;
    const buckets = JSON.parse(await client.requestHealth('/pools/default/buckets')) as BucketReply[];
    return statsOf(nodes, buckets);
  } catch (error) {
    if (error instanceof UnresponsiveNodeError) return unresponsiveStats(nodeNames, error.message);
    throw error;
  }
}

function statsOf(nodes: NodesReply['nodes'], buckets: readonly BucketReply[]): Stats {
  const bucketHealth = Object.fromEntries(buckets.map((bucket) => [bucket.name, bucketStatus(bucket)]));
  const unhealthyBuckets = count(Object.values(bucketHealth), (status) => status !== 'healthy');
  const unhealthyNodes = count(nodes, ({ status }) => status !== 'healthy');
  const failedOver = count(nodes, ({ clusterMembership }) => clusterMembership === 'inactiveFailed');
  const overall = (unhealthy: number): string => (unhealthy === 0 ? 'healthy' : 'unhealthy');
  return {
    health: unhealthyNodes > 0 ? 'degraded' : unhealthyBuckets > 0 ? 'degraded' : 'healthy',
    bucketStats: {
      status: overall(unhealthyBuckets),
      totalCount: buckets.length,
      unhealthyCount: unhealthyBuckets,
      healthStats: bucketHealth,
    },
    nodeStats: {
      status: overall(unhealthyNodes),
      totalCount: nodes.length,
      failedOverCount: failedOver,
      unhealthyCount: unhealthyNodes,
      serviceStats: nodes.map(({ hostname, status, services }) => ({
        nodeName: hostname,
        services: services.map((service) => serviceNames[service] ?? service),
        status,
      })),
    },
  };
}

function unresponsiveStats(nodeNames: readonly string[], reason: string): Stats {
  return {
    health: 'unhealthy',
    reason,
    bucketStats: { status: 'unknown', totalCount: 0, unhealthyCount: 0, healthStats: {} },
    nodeStats: {
      status: 'unhealthy',
      totalCount: nodeNames.length,
      failedOverCount: 0,
      unhealthyCount: nodeNames.length,
      serviceStats: nodeNames.map((nodeName) => ({ nodeName, services: [], status: 'unhealthy' })),
    },
  };
}

const bucketStatus = ({ nodes }: BucketReply): string =>
  nodes.find(({ status }) => status !== 'healthy')?.status ?? 'healthy';
const count = <T>(all: readonly T[], is: (one: T) => boolean): number => all.filter(is).length;
