// The metrics endpoints of the cluster's nodes, in the forms that Prometheus reads.
import { urlHost } from '../bootstrap/terse-config.ts';
import type { NodeState } from '../config/cluster-state.ts';

export interface TargetChoice {
  port: 'insecure' | 'secure';
  network: 'default' | 'external';
}

/** A node without an external name is shown under its internal one. */
export function targetOf(node: NodeState, ownName: string, { port, network }: TargetChoice): string {
  const name = port === 'secure' ? 'mgmtSSL' : 'mgmt';
  const outside = network === 'external' ? node.alternate : null;
  const host = outside?.hostname ?? node.hostname ?? ownName;
  return `${urlHost(host)}:${outside?.ports[name] ?? node.ports[name]}`;
}

export const targetsJson = (targets: readonly string[]): string => JSON.stringify([{ targets }]);

export const targetsYaml = (targets: readonly string[]): string =>
  `- targets:\n${targets.map((target) => `  - '${target.replaceAll("'", "''")}'\n`).join('')}`;
