// While a cluster is upgraded node by node, nodes of two adjacent versions run in it. Each node publishes its version in its entry of the
// configuration; the version of the cluster is the lowest of them. A feature that only newer nodes know is used once the cluster has its version.
import type { NodeState } from './cluster-state.ts';

/** The version that a node of this source publishes. A release that adds something which other nodes have to know raises it by one, and adds its name below. */
export const ownVersion = 2;

/** Version 1 is 0.2, whose nodes publish none. */
const unpublishedVersion = 1;
const releaseNames = ['0.2', '0.3'];

/** For each feature, the version of the cluster from which on nodes use it. */
export const since = {
  /** Nodes of 0.2 would lose the configuration when it moves to servers of the nodes. */
  ownNatsServers: 2,
  /** Nodes of 0.2 do not send their documents to another cluster. */
  replicationToOtherClusters: 2,
  /** Nodes of 0.2 would evaluate the name of a JavaScript function as an SQL++ expression. */
  functionsInJavaScript: 2,
} as const;

type Versioned = Pick<NodeState, 'version'>;

export const nodeVersion = ({ version }: Versioned): number => version ?? unpublishedVersion;

/** The lowest version of all nodes, also of those that do not run. */
export const clusterVersion = (nodes: readonly Versioned[]): number => Math.min(...nodes.map(nodeVersion));

/** `0.3`, as messages name it. */
export const releaseName = (version: number): string =>
  releaseNames[version - 1] ?? `after ${releaseNames.at(-1)}`;

/** Names of the nodes whose version is older than this. */
export const olderNodes = (nodes: readonly NodeState[], version: number): readonly string[] =>
  nodes.filter((node) => nodeVersion(node) < version).map(({ otpNode }) => otpNode);
