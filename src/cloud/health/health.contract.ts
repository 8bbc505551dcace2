// How a cluster is, and the certificate that clients trust it by.
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
  // Of v2 or v3, by the version that is asked.
  status: z.union([clusterStatus, v3ClusterStatus]),
  health: choice('clusterHealth', [
    'healthy',
    'unhealthy',
    'degraded',
    'failedOver',
    'inactiveFailed',
    'N/A',
  ]),
  reason: z.string().optional().describe('why it is unhealthy'),
  bucketStats: bucketStats.optional(),
  nodeStats: nodeStats.optional(),
});
export type ClusterHealth = z.output<typeof healthSchema>;

export const ShowHealth = defineOperation({
  id: 'clusters/health',
  method: 'GET',
  path: '/v2/clusters/{id}/health',
  subject: 'cluster',
  doc: 'What the nodes say now; for a cluster that is not ready its status alone.',
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
