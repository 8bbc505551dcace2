// Handlers for health and certificates.

import { notFound } from '../answers/api-error.ts';
import { type ClusterNodes, endpointOf } from '../clusters/cluster-nodes.ts';
import { type Phase, v2Status, v3Status } from '../clusters/phase.ts';
import type { BoundOperation } from '../http/operation.ts';
import { bindBoth } from '../http/versions.ts';
import { ShowCertificate, ShowHealth } from './health.contract.ts';
import { healthOf } from './health.service.ts';

export const healthOperations = (nodes: ClusterNodes): BoundOperation[] => [
  ...bindBoth(ShowHealth, async ({ subject: row }, version) => {
    const status = (version === 'v2' ? v2Status : v3Status)[row.phase as Phase];
    if (row.phase !== 'ready') return { status: 200, body: { status, health: 'N/A' } };
    const stats = await healthOf(await nodes.client(row), (await nodes.of(row.id)).map(endpointOf));
    const degraded = version === 'v3' && stats.health !== 'healthy';
    return { status: 200, body: { status: degraded ? 'degraded' : status, ...stats } };
  }),
  ...bindBoth(ShowCertificate, async ({ subject: row }) => {
    if (row.certificate === null)
      throw notFound(`cluster ${row.id} has no certificate yet: it is ${row.phase}`);
    return { status: 200, body: { certificate: row.certificate } };
  }),
];
