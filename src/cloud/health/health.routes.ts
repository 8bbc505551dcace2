// Handlers for health and certificates.

import { notFound } from '../answers/api-error.ts';
import type { ClusterNodes } from '../clusters/cluster-nodes.ts';
import { managedPhases, type Phase, v2Status, v3Status } from '../clusters/phase.ts';
import type { BoundOperation } from '../http/operation.ts';
import { bindBoth } from '../http/versions.ts';
import { ShowCertificate, ShowHealth } from './health.contract.ts';

export const healthOperations = (nodes: ClusterNodes): BoundOperation[] => [
  ...bindBoth(ShowHealth, async ({ subject: row }, version) => {
    const status = (version === 'v2' ? v2Status : v3Status)[row.phase as Phase];
    if (!managedPhases.includes(row.phase)) return { status: 200, body: { status, health: 'N/A' } };
    const stats = await nodes.health(row);
    // v2 has no status for a cluster with unhealthy nodes: its clients read `health`.
    const degraded = version === 'v3' && row.phase === 'ready' && stats.health !== 'healthy';
    return { status: 200, body: { status: degraded ? 'degraded' : status, ...stats } };
  }),
  ...bindBoth(ShowCertificate, async ({ subject: row }) => {
    if (row.certificate === null)
      throw notFound(`cluster ${row.id} has no certificate yet: it is ${row.phase}`);
    return { status: 200, body: { certificate: row.certificate } };
  }),
];
