// Operations on the contents of clusters are served under both versions: under v2 as published, and under v3 for the clusters that v3
// created (environment `hosted`), which v2 does not show.
import type { BoundOperation, Operation, Reply, RequestOf } from './operation.ts';

export type Version = 'v2' | 'v3';

/** Binds a v2 operation, and its copy under v3. */
export function bindBoth<const O extends Operation>(
  operation: O,
  handle: (request: RequestOf<O>, version: Version) => Promise<Reply>,
): BoundOperation[] {
  return (['v2', 'v3'] as const).map((version) => ({
    operation: version === 'v2' ? operation : underV3(operation),
    handle: ((request: RequestOf<O>) => handle(request, version)) as BoundOperation['handle'],
  }));
}

const underV3 = (operation: Operation): Operation => ({
  ...operation,
  id: operation.id.replace('/', '/v3'),
  path: operation.path.replace('/v2/', '/v3/'),
});
