// Routes for programs that collect metrics.
import { field, form, openForm } from '#contract/fields.ts';
import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';

const { array, object, string } = shape;

const exportStats: Access = { kind: 'permission', permission: 'cluster.admin.stats_export!read' };

const targetChoice = {
  port: field.oneOf(['insecure', 'secure']).default('secure'),
  network: field.oneOf(['default', 'external']).default('default'),
} as const;

export const GetMetrics = defineRoute({
  id: 'metrics.export',
  method: 'GET',
  path: '/metrics',
  access: exportStats,
  answer: { text: 'text/plain' },
  doc: 'All current metrics in the text format of Prometheus, or as OpenMetrics if the client accepts it.',
});

export const GetTargets = defineRoute({
  id: 'metrics.targets',
  method: 'GET',
  path: '/prometheus_sd_config',
  access: exportStats,
  query: form({
    type: field.oneOf(['json', 'yaml']).default('json'),
    ...targetChoice,
    disposition: field.oneOf(['attachment', 'inline']).default('inline'),
  }),
  answer: { json: array(object({ targets: array(string) })), text: 'text/yaml' },
  doc: 'The nodes to collect metrics from, for the service discovery of Prometheus (over HTTP, or from a file).',
});

export const GetTargetsYaml = defineRoute({
  ...GetTargets,
  id: 'metrics.targets_yaml',
  path: '/prometheus_sd_config.yaml',
  answer: { text: 'text/yaml' },
  // Older configurations may have parameters that mean nothing at this path, so these are ignored.
  query: openForm(targetChoice),
  doc: 'The targets in YAML, at the path that older configurations name.',
});
