// Routes that describe the cluster: the first reads of clients and tools, and its streams.

import { type Access, defineRoute } from '#contract/route.ts';
import {
  nodeServicesShape,
  poolShape,
  poolsShape,
  progressShape,
  streamedPoolShape,
  tasksShape,
  terseBucketShape,
  terseClusterShape,
  versionsShape,
} from './pools.shapes.ts';

const readPools: Access = { kind: 'permission', permission: 'cluster.pools!read' };
const readBucket: Access = { kind: 'permission', permission: 'cluster.bucket[{bucket}].settings!read' };
const readTasks: Access = { kind: 'permission', permission: 'cluster.tasks!read' };

export const GetPools = defineRoute({
  id: 'pools.list',
  method: 'GET',
  path: '/pools',
  access: readPools,
  openBeforeProvisioning: true,
  answer: { json: poolsShape },
  doc: 'Edition, version and the one pool; answers before provisioning too.',
});

export const GetVersions = defineRoute({
  id: 'pools.versions',
  method: 'GET',
  path: '/versions',
  access: { kind: 'authenticated' },
  openBeforeProvisioning: true,
  answer: { json: versionsShape },
  doc: 'Versions of the server and its parts.',
});

export const GetPool = defineRoute({
  id: 'pools.default',
  method: 'GET',
  path: '/pools/default',
  access: readPools,
  openBeforeProvisioning: true,
  answer: { json: poolShape },
  doc: 'The cluster: nodes, quotas, storage. With `?waitChange=MS&etag=E` waits for a change.',
});

export const GetPoolNodes = defineRoute({
  ...GetPool,
  id: 'pools.nodes',
  path: '/pools/nodes',
  openBeforeProvisioning: false,
  doc: 'The same as `/pools/default`.',
});

export const StreamPool = defineRoute({
  id: 'pools.stream',
  method: 'GET',
  path: '/poolsStreaming/default',
  access: readPools,
  answer: { json: streamedPoolShape, stream: true },
  doc: 'The cluster, again after each change.',
});

export const GetNodeServices = defineRoute({
  id: 'pools.node_services',
  method: 'GET',
  path: '/pools/default/nodeServices',
  access: readPools,
  openBeforeProvisioning: true,
  answer: { json: nodeServicesShape },
  doc: 'Nodes with the ports of their services, from which clients without a bucket bootstrap.',
});

export const StreamNodeServices = defineRoute({
  id: 'pools.node_services_stream',
  method: 'GET',
  path: '/pools/default/nodeServicesStreaming',
  access: readPools,
  answer: { json: nodeServicesShape, stream: true },
  doc: 'Node services, again after each change.',
});

export const GetTerseCluster = defineRoute({
  id: 'pools.terse',
  method: 'GET',
  path: '/pools/default/terseClusterInfo',
  access: {
    kind: 'roles',
    roles: ['admin', 'cluster_admin', 'ro_admin', 'security_admin_local', 'security_admin_external'],
    permission: 'cluster.pools!read',
  },
  answer: { json: terseClusterShape },
  doc: 'Cluster uuid, orchestrator, balance and compatibility version.',
});

export const GetTerseBucket = defineRoute({
  id: 'pools.terse_bucket',
  method: 'GET',
  path: '/pools/default/b/:bucket',
  access: readBucket,
  answer: { json: terseBucketShape },
  doc: 'The configuration that clients route by.',
});

export const StreamTerseBucket = defineRoute({
  id: 'pools.terse_bucket_stream',
  method: 'GET',
  path: '/pools/default/bs/:bucket',
  access: readBucket,
  answer: { json: terseBucketShape, stream: true },
  doc: 'The configuration that clients route by, again after each change; ends when the bucket is deleted.',
});

export const GetTasks = defineRoute({
  id: 'pools.tasks',
  method: 'GET',
  path: '/pools/default/tasks',
  access: readTasks,
  answer: { json: tasksShape },
  doc: 'Background tasks: rebalance (always listed), buckets that warm up, compactions, support bundles, replications to other clusters, sample buckets that are being loaded, buckets that are being deleted, tasks of the backup service.',
});

export const GetRebalanceProgress = defineRoute({
  id: 'pools.rebalance_progress',
  method: 'GET',
  path: '/pools/default/rebalanceProgress',
  access: readTasks,
  answer: { json: progressShape },
  doc: 'Progress of the running rebalance: the share that is done, by node.',
});
