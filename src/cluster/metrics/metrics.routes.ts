// Handlers of a node's metrics in the formats of Prometheus, and of the list of nodes that Prometheus reads.
import { urlHost } from '#base/host-and-port.ts';
import { type BoundRoute, bind, reply } from '#contract/route.ts';
import { openMetricsText, openMetricsType, prometheusText, prometheusType } from '#metrics/exposition.ts';
import type { MetricsRegistry } from '#metrics/registry.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import * as contract from './metrics.contract.ts';

export interface MetricsRoutesDeps {
  registry: Pick<MetricsRegistry, 'collect'>;
  view: ClusterView;
}

export function metricsRoutes({ registry, view }: MetricsRoutesDeps): BoundRoute[] {
  return [
    bind(contract.GetMetrics, async (_, { headers }) => {
      const samples = await registry.collect();
      const isOpenMetrics = String(headers['accept'] ?? '').includes('application/openmetrics-text');
      const [text, type] = isOpenMetrics
        ? [openMetricsText(samples), openMetricsType]
        : [prometheusText(samples), prometheusType];
      return reply.text(text, 200, { 'Content-Type': type });
    }),
    bind(contract.GetTargetsYaml, ({ query }, { local }) => {
      const targets = view.cluster.nodes.map((node) => targetOf(node, local.address, query));
      return reply.text(targetsYaml(targets), 200, { 'Content-Type': 'text/yaml' });
    }),
    bind(contract.GetTargets, ({ query }, { local }) => {
      const targets = view.cluster.nodes.map((node) => targetOf(node, local.address, query));
      const isJson = query.type === 'json';
      const body = isJson ? targetsJson(targets) : targetsYaml(targets);
      const file = `prometheus_sd_config.${query.type}`;
      return reply.text(body, 200, {
        'Content-Type': isJson ? 'application/json' : 'text/yaml',
        ...(query.disposition === 'attachment' && {
          'Content-Disposition': `attachment; filename="${file}"`,
        }),
      });
    }),
  ];
}

interface TargetChoice {
  port: 'insecure' | 'secure';
  network: 'default' | 'external';
}

/** Where Prometheus reads a node's metrics. A node without an external name is shown under its internal one. */
function targetOf(node: NodeState, ownName: string, { port, network }: TargetChoice): string {
  const name = port === 'secure' ? 'mgmtSSL' : 'mgmt';
  const outside = network === 'external' ? node.alternate : null;
  const host = outside?.hostname ?? node.hostname ?? ownName;
  return `${urlHost(host)}:${outside?.ports[name] ?? node.ports[name]}`;
}

const targetsJson = (targets: readonly string[]): string => JSON.stringify([{ targets }]);

const targetsYaml = (targets: readonly string[]): string =>
  `- targets:\n${targets.map((target) => `  - '${target.replaceAll("'", "''")}'\n`).join('')}`;
