// Which buckets of the data service can be read and written.
import type { BucketReport } from '#kv/admin.ts';

export interface BucketHealth {
  /** The buckets whose documents can all be read. */
  readonly readable: string[];
  /** What keeps the others from being read or written. */
  readonly damages: string[];
}

export function bucketHealthOf(buckets: readonly BucketReport[]): BucketHealth {
  const readable = buckets.filter((bucket) => bucket.state === 'ready' && bucket.damaged.length === 0);
  const damages = buckets.flatMap(({ name, damaged, warmUp, writeFailure }) => [
    ...damaged.map(({ path, reason }) => `bucket "${name}": ${path}: ${reason}`),
    ...(warmUp?.noSpace === undefined
      ? []
      : [`bucket "${name}" waits for disk space to open ${warmUp.noSpace}`]),
    ...(writeFailure === null ? [] : [`bucket "${name}" takes no writes: ${writeFailure}`]),
  ]);
  return { readable: readable.map(({ name }) => name), damages };
}
