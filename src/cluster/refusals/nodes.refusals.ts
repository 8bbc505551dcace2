// Refusals of requests about nodes and the cluster as a whole: its set-up, and features that this version does not have.
import { defineRefusals } from '#contract/refusal.ts';

export const nodeRefusals = defineRefusals('nodes', {
  unknownPool: {
    status: 404,
    as: 'json',
    text: 'unknown pool',
    when: 'The node is not set up yet.',
    published: true,
  },
  unknownNode: { status: 404, as: 'json', text: 'Node is unknown to this cluster.', published: true },
  pageDisabled: {
    status: 404,
    as: 'empty',
    when: 'The console is disabled on this kind of port, or has no such file.',
  },
  consoleNotBuilt: {
    status: 404,
    as: 'text',
    text: 'The console is not built. Run "npm run build:console" in the checkout.',
  },
  sessionWithoutPassword: {
    as: 'text',
    text: 'A session needs the name and the password of the caller in the Authorization header.',
  },
  alreadyProvisioned: { as: 'fields', text: 'The cluster is already provisioned' },
  servicesFixed: {
    as: 'fields',
    field: 'services',
    text: 'cannot change node services after cluster is provisioned',
    published: true,
  },
  invalidMemory: { as: 'fields', field: 'memoryQuota', text: '{problem}' },
  invalidName: { as: 'list', text: '{problem}', when: 'The node cannot use the host name.' },
  invalidInitName: {
    as: 'fields',
    text: '{problem}',
    when: 'The set-up of a node in one call: the node cannot use the host name.',
  },
  invalidPaths: { as: 'list', when: 'One text for each wrong path.' },
  invalidInitPaths: {
    as: 'fields',
    text: '{problems}',
    when: 'The set-up of a node in one call: one or more paths are wrong.',
  },
  noAlternateName: { as: 'text', text: 'hostname should be specified', published: true },
  invalidAlternateName: { as: 'text', text: '{problem}' },
  invalidAlternatePort: { as: 'text', text: 'Invalid Port "{name}" : {problem}', published: true },
  idleAlternatePorts: {
    as: 'text',
    text: 'Cannot set external ports {ports} as services are unavailable on the node.',
    published: true,
  },
  invalidRebalanceTimeout: { as: 'bare', field: 'rebalanceStatusTimeout', text: 'invalid' },
  absent: { status: 501, as: 'text', text: '{reason}', when: 'A feature that this version does not have.' },
  olderNodes: {
    as: 'text',
    text: 'This call needs version {release} on all nodes. Upgrade first: {nodes}',
    when: 'The cluster is being upgraded, and a node lacks what the call needs.',
  },
});
