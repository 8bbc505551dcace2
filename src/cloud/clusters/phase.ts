// The phases of a cluster and their names in both API versions. Under v3 the health of a ready cluster decides between
// `healthy` and `degraded`.
import type { z } from 'zod';
import { choice } from '../answers/component.ts';

export const phases = [
  'scheduled',
  'deploying',
  'deploy_failed',
  'ready',
  'scaling',
  'scale_failed',
  'destroying',
  'destroy_failed',
] as const;
export type Phase = (typeof phases)[number];

/** The phases of clusters whose nodes serve clients: they are started again with the cloud, and their allowlist is kept up to date. */
export const servingPhases: readonly string[] = ['ready', 'scaling', 'scale_failed'] satisfies Phase[];

/** The phases in which the contents and the servers of a cluster can be changed. */
export const managedPhases: readonly string[] = ['ready', 'scale_failed'] satisfies Phase[];

/** The phase of a cluster whose operation has failed in this phase. */
export const phaseAfterFailure = {
  scheduled: 'deploy_failed',
  deploying: 'deploy_failed',
  scaling: 'scale_failed',
  destroying: 'destroy_failed',
} as const satisfies Partial<Record<Phase, Phase>>;

export const clusterStatus = choice('clusterStatus', [
  'draft',
  'needs_deploy',
  'job_scheduled',
  'deploying',
  'deploy_failed',
  'deploy_succeeded',
  'ready',
  'destroying',
  'destroy_failed',
  'destroy_succeeded',
  'metrics_failed',
  'preflight_started',
  'preflight_failed',
  'preflight_succeeded',
  'management_blocked',
  'upgrading',
]);

export const v3ClusterStatus = choice('v3ClusterStatus', [
  'draft',
  'deploying',
  'scaling',
  'upgrading',
  'rebalancing',
  'peering',
  'destroying',
  'healthy',
  'degraded',
  'deploymentFailed',
  'scaleFailed',
  'upgradeFailed',
  'rebalanceFailed',
  'peeringFailed',
  'destroyFailed',
]);

/** The published statuses of v2 that a cluster here goes through. */
export const v2Status: Readonly<Record<Phase, z.output<typeof clusterStatus>>> = {
  scheduled: 'job_scheduled',
  deploying: 'deploying',
  deploy_failed: 'deploy_failed',
  ready: 'ready',
  // v2 has no status for scaling. `management_blocked`: the cluster cannot be changed meanwhile. After a failed scaling it serves as
  // before: `ready`.
  scaling: 'management_blocked',
  scale_failed: 'ready',
  destroying: 'destroying',
  destroy_failed: 'destroy_failed',
};

export type V3Status = z.output<typeof v3ClusterStatus>;

export const v3Status: Readonly<Record<Phase, V3Status>> = {
  scheduled: 'deploying',
  deploying: 'deploying',
  deploy_failed: 'deploymentFailed',
  ready: 'healthy',
  scaling: 'scaling',
  scale_failed: 'scaleFailed',
  destroying: 'destroying',
  destroy_failed: 'destroyFailed',
};
