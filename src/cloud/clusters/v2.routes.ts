// Handlers of v2 for clusters in customers' clouds.

import { cursorOf } from '../answers/paging.ts';
import { type BoundOperation, bind } from '../http/operation.ts';
import type { ClusterRow } from '../store/tables.ts';
import type { AcceptedOperation, ClusterLifecycleService } from './cluster-lifecycle.service.ts';
import type { ClusterNodes } from './cluster-nodes.ts';
import { type ClusterSpec, nodeCount, type ServerGroup, servicesOf } from './cluster-spec.ts';
import type { ClustersService } from './clusters.service.ts';
import { operationHeader } from './common.ts';
import { awsInstances, azureInstances } from './instances.ts';
import { type Phase, v2Status } from './phase.ts';
import {
  CreateCluster,
  clusterReply,
  clusterSummaryReply,
  DeleteCluster,
  ListClusters,
  ShowCluster,
  ShowClusterStatus,
  type V2Server,
} from './v2.contract.ts';

export interface ClusterRouteParts {
  clusters: ClustersService;
  lifecycle: ClusterLifecycleService;
  nodes: ClusterNodes;
  tenantId: string;
  version: string;
}

const defaultInstanceGib = 16;

export function v2ClusterOperations({
  clusters,
  lifecycle,
  nodes,
  tenantId,
  version,
}: ClusterRouteParts): BoundOperation[] {
  return [
    bind(ListClusters, async ({ caller, query, url }) => {
      const { rows, total } = await clusters.list(caller, query, query.sortBy, ['vpc']);
      return {
        status: 200,
        body: { cursor: cursorOf(query, total, url), data: rows.map((row) => summary(row, tenantId)) },
      };
    }),
    bind(CreateCluster, async ({ body }) => {
      const { name, projectId, cloudId, servers, supportPackage } = body;
      const spec: ClusterSpec = {
        servers: (servers ?? [oneServer]).map(groupOf),
        support: supportPackage ?? null,
      };
      return accepted(
        await lifecycle.create({
          environment: 'vpc',
          name,
          projectId,
          cloudId,
          description: '',
          spec,
        }),
      );
    }),
    bind(ShowCluster, async ({ subject: cluster }) => {
      const endpoints = await nodes.endpoints(cluster);
      return { status: 200, body: clusterReply(cluster, { tenantId, version, endpoints }) };
    }),
    bind(ShowClusterStatus, async ({ subject: cluster }) => ({
      status: 200,
      body: { status: v2Status[cluster.phase as Phase] },
    })),
    bind(DeleteCluster, async ({ subject: cluster }) => accepted(await lifecycle.delete(cluster))),
  ];
}

const accepted = ({ clusterId, operationId }: AcceptedOperation) => ({
  status: 202,
  headers: { location: `/v2/clusters/${clusterId}`, [operationHeader]: `/v3/operations/${operationId}` },
});

/** The server group for a request without one. */
const oneServer: V2Server = { size: 1, services: ['data'] };

const groupOf = (server: V2Server): ServerGroup => ({
  size: server.size,
  services: server.services,
  memoryGib: instanceGib(server),
  provider: providerOf(server),
  asked: server,
});

function providerOf({ aws, azure }: V2Server): string | undefined {
  if (aws !== undefined) return 'aws';
  return azure === undefined ? undefined : 'azure';
}

function instanceGib({ aws, azure }: V2Server): number {
  if (aws !== undefined) return awsInstances[aws.instanceSize] as number;
  return azure === undefined ? defaultInstanceGib : (azureInstances[azure.instanceSize] as number);
}

function summary(row: ClusterRow, tenantId: string) {
  const { servers } = JSON.parse(row.spec) as ClusterSpec;
  return clusterSummaryReply(row, { tenantId, nodes: nodeCount(servers), services: servicesOf(servers) });
}
