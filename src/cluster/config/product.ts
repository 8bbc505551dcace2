// Name, version and features that this server reports.
import type { Edition, NodeState } from './cluster-state.ts';

export interface Product {
  edition: Edition;
  /** The version that clients parse: `7.1.0-0.1.0-enterprise`. */
  version: string;
}

/** Clients may use the features of this version of the published protocol. */
const compatible = { major: 7, minor: 1 };

export const clusterCompatibility = compatible.major * 65_536 + compatible.minor;

/** The compatibility as text: `7.1`. */
export const compatVersionText = (compatibility: number): string =>
  `${Math.floor(compatibility / 65_536)}.${compatibility % 65_536}`;

/** The version of the published protocol that all nodes know. Nodes of 0.2 publish none; they know 7.1. */
export const commonCompatibility = (nodes: readonly Pick<NodeState, 'compatibility'>[]): number =>
  Math.min(...nodes.map(({ compatibility = clusterCompatibility }) => compatibility));

export const productOf = (release: string, edition: Edition): Product => ({
  edition,
  version: `${compatible.major}.${compatible.minor}.0-${release}-${edition}`,
});

/** Services that this version runs. A request for another one is refused with an error that names it; no node advertises it. */
export const availableServices: readonly string[] = ['kv', 'index', 'n1ql', 'backup'];
