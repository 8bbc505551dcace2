// Operations of v3 on clusters of both environments (vpc and hosted); v3 creates only hosted ones.
import { z } from 'zod';
import { choice, component, dateOf, dateTime, integer, text, uuidField } from '../answers/component.ts';
import { cursorSchema, pageQuery } from '../answers/paging.ts';
import { defineOperation } from '../http/operation.ts';
import type { ClusterRow } from '../store/tables.ts';
import { clusterName, clusterNodesMax, operationHeader, serviceList, services } from './common.ts';
import { v3ClusterStatus } from './phase.ts';

const timezone = choice('v3SupportPackageTimezones', ['ET', 'GMT', 'IST', 'PT']);
const supportType = choice('v3SupportPackageType', ['Basic', 'DeveloperPro', 'Enterprise']);
const environment = choice('v3Environment', ['hosted', 'vpc']);
const v3Services = choice('v3CouchbaseServices', services);
const descriptionMax = 1024;

export const v3Servers = component('V3Servers', {
  size: integer(1, clusterNodesMax),
  compute: text(1, 128),
  services: serviceList(v3Services),
  storage: component('V3Servers_storage', {
    type: choice('v3StorageType', ['GP3', 'IO2', 'PD-SSD']),
    IOPS: integer(0).optional(),
    size: integer(50, 16384),
  }),
});
export type V3Server = z.output<typeof v3Servers>;

const v3Place = component('V3Place', {
  singleAZ: z.boolean('must be true or false'),
  hosted: component('V3Place_hosted', {
    provider: choice('v3Provider', ['aws', 'azure', 'gcp']),
    region: text(1, 64),
    CIDR: z.cidrv4('must be an IPv4 network such as 10.0.16.0/20'),
  }).optional(),
});
export type V3Place = z.output<typeof v3Place>;

const v3SupportPackage = component('V3SupportPackage', { timezone: timezone, type: supportType });

export const v3CreateClusterRequest = component('V3CreateClusterRequest', {
  environment,
  clusterName: clusterName(),
  projectId: uuidField(),
  description: text(0, descriptionMax).optional(),
  place: v3Place,
  servers: z
    .array(v3Servers, 'must be a list of groups of servers')
    .min(1, 'must have at least one group of servers'),
  supportPackage: v3SupportPackage,
  // Published clients send it; there is one version.
  version: z.unknown().optional(),
});
export type V3CreateClusterRequest = z.output<typeof v3CreateClusterRequest>;

const clusterItem = component('V3ClusterList_data_items', {
  environment: z.string(),
  cloudId: z.string().optional(),
  id: uuidField(),
  name: z.string(),
  projectId: uuidField(),
});

const v3Cluster = component('V3Cluster', {
  id: uuidField(),
  name: z.string(),
  description: z.string(),
  tenantId: uuidField(),
  projectId: uuidField(),
  createdAt: dateTime(),
  updatedAt: dateTime(),
  status: v3ClusterStatus,
  version: component('V3Cluster_version', {
    name: z.string(),
    components: component('V3Cluster_version_components', { cbServerVersion: z.string() }),
  }),
  endpointsURL: z.array(z.string()),
  endpointsSrv: z.string().optional(),
  environment: z.string(),
  place: component('V3Cluster_place', { provider: z.string(), region: z.string(), CIDR: z.string() }),
  servers: z.array(
    component('V3Cluster_servers', {
      size: z.int(),
      compute: z.string(),
      services: z.array(z.string()),
      storage: component('V3Cluster_storage', { type: z.string(), IOPS: z.int(), size: z.int() }),
    }),
  ),
  availabilityZones: z.array(z.string()),
  support: z.string(),
  /** Not published: with these fields a read returns everything that was requested. */
  supportPackage: z.strictObject({ timezone: z.string().optional(), type: z.string() }).optional(),
  singleAZ: z.boolean().optional(),
});
export type V3Cluster = z.output<typeof v3Cluster>;

const accepted = {
  doc: 'Accepted',
  headers: { Location: 'the cluster', [operationHeader]: 'the operation' },
};

export const V3ListClusters = defineOperation({
  id: 'clusters/v3list',
  method: 'GET',
  path: '/v3/clusters',
  doc: 'Clusters of both environments that the token may read.',
  access: 'token',
  needs: 'any',
  fromStore: true,
  query: z.strictObject({ ...pageQuery, cloudId: uuidField().optional(), projectId: uuidField().optional() }),
  replies: {
    200: {
      doc: 'A page',
      body: component('V3ClusterList', {
        cursor: cursorSchema,
        data: component('V3ClusterList_data', { tenantId: uuidField(), items: z.array(clusterItem) }),
      }),
    },
  },
});

export const V3CreateCluster = defineOperation({
  id: 'clusters/v3create',
  method: 'POST',
  path: '/v3/clusters',
  doc: 'Starts the creation of a hosted cluster.',
  access: 'token',
  body: v3CreateClusterRequest,
  replies: { 202: accepted },
});

export const V3ShowCluster = defineOperation({
  id: 'clusters/v3show',
  method: 'GET',
  path: '/v3/clusters/{id}',
  subject: 'cluster',
  doc: 'One cluster.',
  access: 'token',
  replies: { 200: { doc: 'The cluster', body: v3Cluster } },
});

export const V3DeleteCluster = defineOperation({
  id: 'clusters/v3delete',
  method: 'DELETE',
  path: '/v3/clusters/{id}',
  subject: 'cluster',
  doc: 'Starts the deletion of a cluster and its data.',
  access: 'token',
  malformedId: 422,
  replies: { 202: accepted },
});

export const V3ShowClusterStatus = defineOperation({
  id: 'clusters/v3status',
  method: 'GET',
  path: '/v3/clusters/{id}/status',
  subject: 'cluster',
  doc: 'The status of a cluster.',
  access: 'token',
  replies: {
    200: { doc: 'The status', body: component('V3ClusterStatusResponse', { status: v3ClusterStatus }) },
  },
});

export const V3UpdateClusterMeta = defineOperation({
  id: 'clusters/v3update-meta',
  method: 'PUT',
  path: '/v3/clusters/{id}/meta',
  subject: 'cluster',
  doc: 'Changes the name, the description, or both.',
  access: 'token',
  malformedId: 422,
  body: component('V3UpdateClusterMetaRequest', {
    name: clusterName().optional(),
    description: text(0, descriptionMax).optional(),
  }).refine((body) => Object.keys(body).length > 0, 'must have name, description, or both'),
  replies: { 204: { doc: 'Changed' } },
});

export const V3UpdateClusterServers = defineOperation({
  id: 'clusters/v3update-servers',
  method: 'PUT',
  path: '/v3/clusters/{id}/servers',
  subject: 'cluster',
  doc: 'Changes the servers: starts to add and remove nodes until the cluster has the requested ones, and keeps all documents. If the change needs an operation, the header `Divan-Operation` names it. At least one node must keep the instance and the services of the first node of the cluster.',
  access: 'token',
  malformedId: 422,
  body: component('V3UpdateClusterServersRequest', {
    servers: z
      .array(v3Servers, 'must be a list of groups of servers')
      .min(1, 'must have at least one group of servers'),
  }),
  replies: { 202: { doc: 'Accepted', headers: { Location: 'the cluster' } } },
});

export const V3UpdateClusterSupport = defineOperation({
  id: 'clusters/v3update-support',
  method: 'PUT',
  path: '/v3/clusters/{id}/support',
  subject: 'cluster',
  doc: 'Changes the support package.',
  access: 'token',
  malformedId: 422,
  body: component('V3UpdateClusterSupportRequest', {
    supportPackage: component('V3UpdateClusterSupportRequest_supportPackage', {
      timezone: timezone.optional(),
      type: supportType,
    }),
  }),
  replies: { 204: { doc: 'Changed' } },
});

export const clusterItemReply = (row: ClusterRow): z.output<typeof clusterItem> => ({
  environment: row.environment,
  ...(row.cloud_id !== null && { cloudId: row.cloud_id }),
  id: row.id,
  name: row.name,
  projectId: row.project_id,
});

/** The fields of a v3 cluster that are not in its row. */
export type V3ClusterFacts = Pick<
  V3Cluster,
  | 'tenantId'
  | 'status'
  | 'endpointsURL'
  | 'place'
  | 'servers'
  | 'support'
  | 'supportPackage'
  | 'availabilityZones'
  | 'singleAZ'
> & {
  divanVersion: string;
};

export function v3ClusterReply(row: ClusterRow, { divanVersion, ...facts }: V3ClusterFacts): V3Cluster {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    projectId: row.project_id,
    createdAt: dateOf(row.created_at),
    updatedAt: dateOf(row.updated_at),
    environment: row.environment,
    version: { name: divanVersion, components: { cbServerVersion: divanVersion } },
    ...facts,
  };
}
