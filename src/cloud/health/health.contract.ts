// Operations that read the health of a cluster and its certificate authority.
import { z } from 'zod';
import { choice, component } from '../answers/component.ts';
import { clusterStatus, v3ClusterStatus } from '../clusters/phase.ts';
import { defineOperation } from '../http/operation.ts';

const bucketStats = component('BucketStats', {
  status: z.string(),
  totalCount: z.int(),
  unhealthyCount: z.int(),
  healthStats: z.record(z.string(), z.string()),
});

const nodeStats = component('NodeStats', {
  status: z.string(),
  totalCount: z.int(),
  failedOverCount: z.int(),
  unhealthyCount: z.int(),
  serviceStats: z.array(
    component('ServiceStats', { services: z.array(z.string()), nodeName: z.string(), status: z.string() }),
  ),
});

const healthSchema = component('ClusterHealthResponse', {
  // A status of v2 or of v3, depending on the path.
  status: z.union([clusterStatus, v3ClusterStatus]),
  health: choice('clusterHealth', [
    'healthy',
    'unhealthy',
    'degraded',
    'failedOver',
    'inactiveFailed',
    'N/A',
  ]),
  reason: z.string().optional().describe('why the cluster is not healthy'),
  bucketStats: bucketStats.optional(),
  nodeStats: nodeStats.optional(),
});
export type ClusterHealth = z.output<typeof healthSchema>;

export const ShowHealth = defineOperation({
  id: 'clusters/health',
  method: 'GET',
  path: '/v2/clusters/{id}/health',
  subject: 'cluster',
  doc: 'Health as the nodes report it now; of a cluster that is not ready only the status.',
  access: 'token',
  replies: { 200: { doc: 'Health', body: healthSchema } },
});

export const ShowCertificate = defineOperation({
  id: 'clusters/get-certificate',
  method: 'GET',
  path: '/v2/clusters/{id}/certificate',
  subject: 'cluster',
  doc: 'The certificate authority of the cluster.',
  access: 'token',
  fromStore: true,
  replies: { 200: { doc: 'PEM', body: component('GetCertificateResponse', { certificate: z.string() }) } },
});
