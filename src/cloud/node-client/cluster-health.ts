// Computes the health of a cluster from its nodes' answers; a node that does not answer is unhealthy.
import type { NodeClient } from './node-client.ts';
import { UnresponsiveNodeError } from './refusals.ts';

interface ClusterReply {
  nodes: { hostname: string; status: string; services: string[]; clusterMembership: string }[];
  /** False while a rebalance runs or is needed. */
  balanced: boolean;
}
interface BucketReply {
  name: string;
  replicaNumber: number;
  /** `replication`: the share of the requested copies of all documents that are in sync. */
  nodes: { status: string; replication: number }[];
}

const serviceNames: Readonly<Record<string, string>> = {
  kv: 'data',
  n1ql: 'query',
  fts: 'search',
  cbas: 'analytics',
};

export interface HealthStats {
  readonly health: 'healthy' | 'degraded' | 'unhealthy';
  /** Why the cluster is not healthy. */
  readonly reason?: string;
  readonly bucketStats: {
    status: string;
    totalCount: number;
    unhealthyCount: number;
    healthStats: Record<string, string>;
  };
  readonly nodeStats: {
    status: string;
    totalCount: number;
    failedOverCount: number;
    unhealthyCount: number;
    serviceStats: { services: string[]; nodeName: string; status: string }[];
  };
}

/** Each node knows the whole cluster: the others are asked only while the first does not answer. */
export async function healthOf(
  [first, ...others]: readonly NodeClient[],
  nodeNames: readonly string[],
): Promise<HealthStats> {
  if (first === undefined) return unresponsiveStats(nodeNames, 'the cluster has no nodes yet');
  try {
    return await healthFrom(first, nodeNames);
  } catch (error) {
    if (!(error instanceof UnresponsiveNodeError)) throw error;
    const answers = await Promise.allSettled(others.map((client) => healthFrom(client, nodeNames)));
    const answer = answers.find(({ status }) => status === 'fulfilled');
    return answer?.status === 'fulfilled' ? answer.value : unresponsiveStats(nodeNames, error.message);
  }
}

async function healthFrom(client: NodeClient, nodeNames: readonly string[]): Promise<HealthStats> {
  const cluster = JSON.parse(await client.requestHealth('/pools/default')) as ClusterReply;
  const buckets = JSON.parse(await client.requestHealth('/pools/default/buckets')) as BucketReply[];
  return statsOf(cluster, buckets, nodeNames.length);
}

function statsOf(cluster: ClusterReply, buckets: readonly BucketReply[], nodesWanted: number): HealthStats {
  const { nodes } = cluster;
  const bucketHealth = Object.fromEntries(buckets.map((bucket) => [bucket.name, bucketStatus(bucket)]));
  const unhealthyBuckets = count(Object.values(bucketHealth), (status) => status !== 'healthy');
  const unhealthyNodes = count(nodes, ({ status }) => status !== 'healthy');
  const failedOver = count(nodes, ({ clusterMembership }) => clusterMembership === 'inactiveFailed');
  const reason = problemOf(cluster, buckets, nodesWanted);
  const overall = (unhealthy: number): string => (unhealthy === 0 ? 'healthy' : 'unhealthy');
  return {
    health: reason === null ? 'healthy' : 'degraded',
    ...(reason !== null && { reason }),
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

/** The first reason why the cluster is not healthy: a node, documents in wrong places, a bucket, or copies that are not in sync. */
function problemOf(
  { nodes, balanced }: ClusterReply,
  buckets: readonly BucketReply[],
  nodesWanted: number,
): string | null {
  const node = nodes.find(({ status }) => status !== 'healthy');
  if (node !== undefined) return `node ${node.hostname} is ${node.status}`;
  const inactive = nodes.find(({ clusterMembership }) => clusterMembership !== 'active');
  if (inactive !== undefined) return `node ${inactive.hostname} is ${inactive.clusterMembership}, not active`;
  if (nodes.length !== nodesWanted) {
    const nodesText = nodes.length === 1 ? '1 node' : `${nodes.length} nodes`;
    return `the cluster has ${nodesText} instead of ${nodesWanted}`;
  }
  if (!balanced) return 'the documents are not balanced over the nodes';
  const bucket = buckets.find((candidate) => bucketStatus(candidate) !== 'healthy');
  if (bucket !== undefined) return `bucket "${bucket.name}" is ${bucketStatus(bucket)}`;
  const dataNodes = count(nodes, ({ services }) => services.includes('kv'));
  const lagging = buckets.find((candidate) => !isInSync(candidate, dataNodes));
  return lagging === undefined ? null : `copies of bucket "${lagging.name}" are not in sync yet`;
}

/** With few nodes not all requested copies are possible. */
function isInSync({ replicaNumber, nodes }: BucketReply, dataNodes: number): boolean {
  if (replicaNumber === 0) return true;
  const possibleShare = Math.min(replicaNumber, dataNodes - 1) / replicaNumber;
  return nodes.every(({ replication }) => replication >= possibleShare);
}

function unresponsiveStats(nodeNames: readonly string[], reason: string): HealthStats {
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
const count = <T>(all: readonly T[], isCounted: (item: T) => boolean): number => all.filter(isCounted).length;
