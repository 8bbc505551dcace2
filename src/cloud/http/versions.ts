// What is in a cluster is served under both versions of the API: published under v2, and under v3 for the hosted clusters that
// v2 does not know.
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
