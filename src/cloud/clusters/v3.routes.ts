// Requests about clusters of both kinds; those that are made here are hosted.
import { invalid } from '../http/goof.ts';
import { type BoundOperation, bind } from '../http/operation.ts';
import { cursorOf } from '../http/paging.ts';
import type { ClusterRow } from '../store/tables.ts';
import { endpointOf } from './cluster-nodes.ts';
import type { ClusterSpec, ServerGroup } from './cluster-spec.ts';
import type { Accepted } from './clusters.service.ts';
import { operationHeader } from './common.ts';
import { awsInstances, azureInstances, gcpInstances } from './instances.ts';
import type { ClusterRouteParts } from './v2.routes.ts';
import {
  clusterItemReply,
  V3CreateCluster,
  type V3CreateClusterRequest,
  V3DeleteCluster,
  V3ListClusters,
  type V3Place,
  type V3Server,
  V3ShowCluster,
  V3ShowClusterStatus,
  V3UpdateClusterMeta,
  V3UpdateClusterServers,
  V3UpdateClusterSupport,
  v3ClusterReply,
} from './v3.contract.ts';

export function v3ClusterOperations(parts: ClusterRouteParts): BoundOperation[] {
  const { clusters, tenantId } = parts;
  return [
    bind(V3ListClusters, async ({ caller, query, url }) => {
      const { rows, total } = await clusters.list(caller, query, undefined, ['vpc', 'hosted']);
      const data = { tenantId, items: rows.map(clusterItemReply) };
      return { status: 200, body: { cursor: cursorOf(query, total, url), data } };
    }),
    bind(V3CreateCluster, async ({ body }) => accepted(await clusters.create(wishOf(body)))),
    bind(V3ShowCluster, async ({ subject: cluster }) => ({ status: 200, body: await shown(parts, cluster) })),
    bind(V3ShowClusterStatus, async ({ subject: cluster }) => ({
      status: 200,
      body: { status: await parts.nodes.v3Status(cluster) },
    })),
    bind(V3UpdateClusterMeta, async ({ subject: cluster, body }) => {
      await clusters.rename(cluster, body);
      return { status: 204 };
    }),
    bind(V3UpdateClusterSupport, async ({ subject: cluster, body }) => {
      await clusters.changeSupport(cluster, body.supportPackage);
      return { status: 204 };
    }),
    bind(V3UpdateClusterServers, async ({ subject: { spec }, body }) => {
      const provider = providerOf((JSON.parse(spec) as ClusterSpec).place as V3Place | undefined);
      clusters.scale(body.servers.map((server) => groupOf(server, provider)));
      return { status: 202 };
    }),
    bind(V3DeleteCluster, async ({ subject: cluster }) => accepted(await clusters.delete(cluster))),
  ];
}

const accepted = ({ clusterId, operationId }: Accepted) => ({
  status: 202,
  headers: { location: `/v3/clusters/${clusterId}`, [operationHeader]: `/v3/operations/${operationId}` },
});

function wishOf(body: V3CreateClusterRequest) {
  const { environment, clusterName, projectId, description = '', place, servers, supportPackage } = body;
  if (environment === 'vpc')
    throw invalid('environment: clusters in a customer’s cloud (vpc) are made through /v2/clusters');
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

const instances = { aws: awsInstances, azure: azureInstances, gcp: gcpInstances };

const providerOf = (place: V3Place | undefined): keyof typeof instances => place?.hosted?.provider ?? 'aws';

function groupOf(server: V3Server, provider: keyof typeof instances): ServerGroup {
  const memoryGib = instances[provider][server.compute];
  if (memoryGib === undefined) {
    throw invalid(
      `servers.compute: "${server.compute}" is no instance of ${provider}; there are ${Object.keys(instances[provider]).join(', ')}`,
    );
  }
  return { size: server.size, services: server.services, memoryGib, asked: server };
}

async function shown({ clusters, nodes, tenantId, version }: ClusterRouteParts, row: ClusterRow) {
  const { servers, place, support } = JSON.parse(row.spec) as ClusterSpec & { place?: V3Place };
  const own = place?.hosted ?? (await clusters.placeOf(row));
  const supportPackage = support as { timezone?: string; type: string } | null;
  return v3ClusterReply(row, {
    tenantId,
    divanVersion: version,
    status: await nodes.v3Status(row),
    endpointsURL: (await nodes.of(row.id)).filter(({ address }) => address !== '').map(endpointOf),
    place: own,
    availabilityZones: zonesOf(own.region, place?.singleAZ ?? true),
    ...(place !== undefined && { singleAZ: place.singleAZ }),
    servers: servers.map(serverReply),
    support: supportPackage?.type ?? '',
    ...(supportPackage !== null && { supportPackage }),
  });
}

const zonesOf = (region: string, single: boolean): string[] =>
  (single ? ['a'] : ['a', 'b', 'c']).map((zone) => `${region}${zone}`);

/** As it was asked for; a v2 group in v3's words. */
function serverReply({ size, services, asked }: ServerGroup) {
  const { compute, storage, aws, azure } = asked as Partial<V3Server> & {
    aws?: { instanceSize: string; ebsSizeGib: number };
    azure?: { instanceSize: string; volumeType: string };
  };
  return {
    size,
    services: [...services],
    compute: compute ?? aws?.instanceSize ?? azure?.instanceSize ?? '',
    storage: {
      type: storage?.type ?? azure?.volumeType ?? 'GP3',
      IOPS: storage?.IOPS ?? 0,
      size: storage?.size ?? aws?.ebsSizeGib ?? 0,
    },
  };
}
