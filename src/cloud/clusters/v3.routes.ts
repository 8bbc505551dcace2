// Handlers of v3 for the clusters of both environments (vpc and hosted); v3 creates only hosted ones.
import { invalid } from '../answers/api-error.ts';
import { cursorOf } from '../answers/paging.ts';
import { type BoundOperation, bind } from '../http/operation.ts';
import type { ClusterRow } from '../store/tables.ts';
import type { AcceptedOperation } from './cluster-lifecycle.service.ts';
import type { ClusterScaleService } from './cluster-scale.service.ts';
import type { ClusterSpec } from './cluster-spec.ts';
import { operationHeader } from './common.ts';
import type { ReadyClusters } from './ready-cluster.ts';
import type { ClusterRouteParts } from './v2.routes.ts';
import {
  clusterItemReply,
  V3CreateCluster,
  type V3CreateClusterRequest,
  V3DeleteCluster,
  V3ListClusters,
  type V3Place,
  V3ShowCluster,
  V3ShowClusterStatus,
  V3UpdateClusterMeta,
  V3UpdateClusterServers,
  V3UpdateClusterSupport,
  v3ClusterReply,
} from './v3.contract.ts';
import { groupOf, serverReply } from './v3.servers.ts';

export interface V3ClusterRouteParts extends ClusterRouteParts {
  ready: ReadyClusters;
  scaling: ClusterScaleService;
}

export function v3ClusterOperations(parts: V3ClusterRouteParts): BoundOperation[] {
  const { clusters, lifecycle, tenantId } = parts;
  return [
    bind(V3ListClusters, async ({ caller, query, url }) => {
      const { rows, total } = await clusters.list(caller, query, undefined, ['vpc', 'hosted']);
      const data = { tenantId, items: rows.map(clusterItemReply) };
      return { status: 200, body: { cursor: cursorOf(query, total, url), data } };
    }),
    bind(V3CreateCluster, async ({ body }) => accepted(await lifecycle.create(requestOf(body)))),
    bind(V3ShowCluster, async ({ subject: cluster }) => ({
      status: 200,
      body: await clusterReplyOf(parts, cluster),
    })),
    bind(V3ShowClusterStatus, async ({ subject: cluster }) => ({
      status: 200,
      body: { status: await parts.nodes.v3Status(cluster) },
    })),
    bind(V3UpdateClusterMeta, async ({ subject: cluster, body }) => {
      await clusters.changeDetails(cluster, body);
      return { status: 204 };
    }),
    bind(V3UpdateClusterSupport, async ({ subject: cluster, body }) => {
      await clusters.changeSupport(cluster, body.supportPackage);
      return { status: 204 };
    }),
    bind(V3UpdateClusterServers, async ({ subject: cluster, body }) => {
      const operation = await parts.scaling.change(await parts.ready.requireReady(cluster), body.servers);
      const headers = { location: `/v3/clusters/${cluster.id}` };
      // The cluster has such servers already.
      if (operation === null) return { status: 202, headers };
      return { status: 202, headers: { ...headers, [operationHeader]: operationPath(operation) } };
    }),
    bind(V3DeleteCluster, async ({ subject: cluster }) => accepted(await lifecycle.delete(cluster))),
  ];
}

const operationPath = (id: string): string => `/v3/operations/${id}`;

const accepted = ({ clusterId, operationId }: AcceptedOperation) => ({
  status: 202,
  headers: { location: `/v3/clusters/${clusterId}`, [operationHeader]: operationPath(operationId) },
});

function requestOf(body: V3CreateClusterRequest) {
  const { environment, clusterName, projectId, description = '', place, servers, supportPackage } = body;
  if (environment === 'vpc')
    throw invalid('environment: clusters in a customer’s cloud (vpc) are created through /v2/clusters');
  if (place.hosted === undefined)
    throw invalid('place.hosted: a hosted cluster needs provider, region and CIDR');
  const provider = place.hosted.provider;
  const spec = {
    servers: servers.map((server) => groupOf(server, provider)),
    support: supportPackage,
    place,
  };
  return { environment, name: clusterName, projectId, cloudId: null, description, spec } as const;
}

async function clusterReplyOf({ clusters, nodes, tenantId, version }: ClusterRouteParts, row: ClusterRow) {
  const { servers, place, support } = JSON.parse(row.spec) as ClusterSpec & { place?: V3Place };
  const network = place?.hosted ?? (await clusters.placeOf(row));
  const supportPackage = support as { timezone?: string; type: string } | null;
  return v3ClusterReply(row, {
    tenantId,
    divanVersion: version,
    status: await nodes.v3Status(row),
    endpointsURL: await nodes.endpoints(row),
    place: network,
    availabilityZones: zonesOf(network.region, place?.singleAZ ?? true),
    ...(place !== undefined && { singleAZ: place.singleAZ }),
    servers: servers.map(serverReply),
    support: supportPackage?.type ?? '',
    ...(supportPackage !== null && { supportPackage }),
  });
}

const zonesOf = (region: string, isSingle: boolean): string[] =>
  (isSingle ? ['a'] : ['a', 'b', 'c']).map((zone) => `${region}${zone}`);
