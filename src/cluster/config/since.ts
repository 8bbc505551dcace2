// Refuses requests to a route while the cluster has a node of a version that does not know the route.
import type { BoundRoute } from '#contract/route.ts';
import { nodeRefusals } from '../refusals/nodes.refusals.ts';
import type { ClusterView } from './cluster-view.ts';
import { olderNodes, releaseName } from './node-versions.ts';

/** The route as a node of this version serves it; a route that names no version is returned unchanged. */
export function servedSince({ route, handler }: BoundRoute, view: Pick<ClusterView, 'cluster'>): BoundRoute {
  const { since } = route;
  if (since === undefined) return { route, handler };
  return {
    route,
    handler: (input, context) => {
      const older = olderNodes(view.cluster.nodes, since);
      if (older.length > 0)
        throw nodeRefusals.olderNodes({ release: releaseName(since), nodes: older.join(', ') });
      return handler(input, context);
    },
  };
}
