// Operations of v2 on clusters in a customer's cloud.
import { z } from 'zod';
import { choice, component, dateOf, dateTime, integer, uuidField } from '../answers/component.ts';
import { cursorSchema, pageQuery, sortBy } from '../answers/paging.ts';
import { defineOperation } from '../http/operation.ts';
import type { ClusterRow } from '../store/tables.ts';
import { clusterName, clusterNodesMax, operationHeader, serviceList, services } from './common.ts';
import { awsInstances, azureInstances } from './instances.ts';
import { clusterStatus, type Phase, v2Status } from './phase.ts';

const couchbaseServices = choice('couchbaseServices', services);
const groupsMissing = 'must have at least one group of servers';
/** Sizes of managed disks, by Azure's names. */
const volumeTypes = ['P4', 'P6', 'P10', 'P15', 'P20', 'P30', 'P40', 'P50', 'P60', 'P70'] as const;

export const serverSchema = component('Server', {
  size: integer(1, clusterNodesMax),
  services: serviceList(couchbaseServices),
  aws: component('Server_aws', {
    instanceSize: choice('awsInstances', Object.keys(awsInstances)),
    ebsSizeGib: integer(50, 16384),
  }).optional(),
  azure: component('Server_azure', {
    instanceSize: choice('azureInstances', Object.keys(azureInstances)),
    volumeType: choice('azureVolumeTypes', volumeTypes),
  }).optional(),
}).refine(({ aws, azure }) => aws === undefined || azure === undefined, 'must have aws or azure, not both');
export type V2Server = z.output<typeof serverSchema>;

export const createClusterRequest = component('CreateClusterRequest', {
  name: clusterName(),
  cloudId: uuidField(),
  projectId: uuidField(),
  servers: z.array(serverSchema, 'must be a list of groups of servers').min(1, groupsMissing).optional(),
  supportPackage: component('CreateClusterRequest_supportPackage', {
    type: choice('supportPackageType', ['enterprise', 'developerPro', 'forumSupport']),
    timezone: choice('supportTimezones', ['ET', 'GMT', 'IST', 'PT']),
  }).optional(),
  version: choice('clusterVersions', [
    'latest',
    'enterprise-6.5.0',
    'enterprise-6.5.1',
    'enterprise-6.6.0',
  ]).optional(),
});
export type CreateClusterRequest = z.output<typeof createClusterRequest>;

export const clusterSchema = component('Cluster', {
  id: uuidField(),
  name: z.string(),
  tenantId: uuidField(),
  cloudId: uuidField(),
  projectId: uuidField(),
  status: clusterStatus,
  resourceIdentifier: z.string(),
  createdAt: dateTime(),
  updatedAt: dateTime(),
  deployedAt: dateTime().optional(),
  version: component('ClusterVersion', { name: z.string(), components: z.record(z.string(), z.string()) }),
  endpointsURL: z.array(z.string()),
  privateEndpointURL: z.array(z.string()),
  endpointsSrv: z.string().optional(),
  privateEndpointsSrv: z.string().optional(),
});

const clusterSummary = component('ClusterSummary', {
  id: uuidField(),
  name: z.string(),
  tenantId: uuidField(),
  cloudId: uuidField(),
  projectId: uuidField(),
  services: z.array(couchbaseServices),
  nodes: z.int(),
});

export const clusterSortKeys = ['id', 'name', 'tenantId', 'cloudId', 'projectId', 'nodes'] as const;
const accepted = {
  doc: 'Accepted',
  headers: { Location: 'the cluster', [operationHeader]: 'the operation' },
};

export const ListClusters = defineOperation({
  id: 'clusters/list',
  method: 'GET',
  path: '/v2/clusters',
  doc: 'Clusters in customers’ clouds that the token may read.',
  access: 'token',
  needs: 'any',
  fromStore: true,
  query: z.strictObject({
    ...pageQuery,
    sortBy: sortBy(clusterSortKeys),
    cloudId: uuidField().optional(),
    projectId: uuidField().optional(),
  }),
  replies: {
    200: {
      doc: 'A page',
      body: component('ListClustersResponse', { cursor: cursorSchema, data: z.array(clusterSummary) }),
    },
  },
});

export const CreateCluster = defineOperation({
  id: 'clusters/create',
  method: 'POST',
  path: '/v2/clusters',
  doc: 'Starts the creation of a cluster in a customer’s cloud.',
  access: 'token',
  body: createClusterRequest,
  replies: { 202: accepted },
});

export const ShowCluster = defineOperation({
  id: 'clusters/show',
  method: 'GET',
  path: '/v2/clusters/{id}',
  subject: 'cluster',
  doc: 'One cluster.',
  access: 'token',
  fromStore: true,
  replies: { 200: { doc: 'The cluster', body: clusterSchema } },
});

export const DeleteCluster = defineOperation({
  id: 'clusters/delete',
  method: 'DELETE',
  path: '/v2/clusters/{id}',
  subject: 'cluster',
  doc: 'Starts the deletion of a cluster and its data.',
  access: 'token',
  malformedId: 422,
  replies: { 202: accepted },
});

export const ShowClusterStatus = defineOperation({
  id: 'clusters/status',
  method: 'GET',
  path: '/v2/clusters/{id}/status',
  subject: 'cluster',
  doc: 'The status of a cluster.',
  access: 'token',
  fromStore: true,
  replies: {
    200: { doc: 'The status', body: component('ClusterStatusResponse', { status: clusterStatus }) },
  },
});

/** Facts of a cluster that are not in its row. */
export interface ClusterFacts {
  readonly tenantId: string;
  readonly version: string;
  /** `host` or `host:kvPort` of each node. */
  readonly endpoints: readonly string[];
}

export function clusterReply(row: ClusterRow, facts: ClusterFacts): z.output<typeof clusterSchema> {
  return {
    id: row.id,
    name: row.name,
    tenantId: facts.tenantId,
    cloudId: row.cloud_id as string,
    projectId: row.project_id,
    status: v2Status[row.phase as Phase],
    resourceIdentifier: `divan:cluster:${row.id}`,
    createdAt: dateOf(row.created_at),
    updatedAt: dateOf(row.updated_at),
    ...(row.deployed_at !== null && { deployedAt: dateOf(row.deployed_at) }),
    version: { name: facts.version, components: { divan: facts.version } },
    endpointsURL: [...facts.endpoints],
    privateEndpointURL: [...facts.endpoints],
  };
}

export const clusterSummaryReply = (
  row: ClusterRow,
  { tenantId, nodes, services }: { tenantId: string; nodes: number; services: string[] },
): z.output<typeof clusterSummary> => ({
  id: row.id,
  name: row.name,
  tenantId,
  cloudId: row.cloud_id as string,
  projectId: row.project_id,
  services: services as z.output<typeof couchbaseServices>[],
  nodes,
});
