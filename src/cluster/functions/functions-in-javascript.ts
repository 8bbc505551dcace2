// Refuses functions in JavaScript while a node of the cluster has a version that does not know them.
import type { ClusterView } from '../config/cluster-view.ts';
import { olderNodes, releaseName, since } from '../config/node-versions.ts';

/** Why the cluster cannot have such functions yet; null: it can. */
export function javaScriptProblem({ cluster }: Pick<ClusterView, 'cluster'>): string | null {
  const version = since.functionsInJavaScript;
  const older = olderNodes(cluster.nodes, version);
  if (older.length === 0) return null;
  return `functions in JavaScript need version ${releaseName(version)} on all nodes, and these are older: ${older.join(', ')}`;
}
