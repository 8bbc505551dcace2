// Where a cluster stands, and how the two API versions call that. Health decides between a v3 cluster's last two.

export const phases = [
  'scheduled',
  'deploying',
  'deploy_failed',
  'ready',
  'destroying',
  'destroy_failed',
] as const;
export type Phase = (typeof phases)[number];

/** The published statuses of v2 that a cluster here goes through. */
export const v2Status: Readonly<Record<Phase, string>> = {
  scheduled: 'job_scheduled',
  deploying: 'deploying',
  deploy_failed: 'deploy_failed',
  ready: 'ready',
  destroying: 'destroying',
  destroy_failed: 'destroy_failed',
};

export const v3Status: Readonly<Record<Phase, string>> = {
  scheduled: 'deploying',
  deploying: 'deploying',
  deploy_failed: 'deploymentFailed',
  ready: 'healthy',
  destroying: 'destroying',
  destroy_failed: 'destroyFailed',
};
