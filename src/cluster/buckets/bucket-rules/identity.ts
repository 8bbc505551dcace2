// The name and the type of a bucket: chosen once, at creation.
import type { BucketType, StoredBucket, Vocabulary } from '../../config/cluster-state.ts';
import type { Problems } from '../../forms/problems.ts';

const nameBytesMax = 100;
const reservedPrefixes = ['_users.couch.', '_replicator.couch.'];

const types: Record<string, { type: BucketType; vocabulary: Vocabulary }> = {
  native: { type: 'native', vocabulary: 'neutral' },
  cache: { type: 'cache', vocabulary: 'neutral' },
  couchbase: { type: 'native', vocabulary: 'branded' },
  membase: { type: 'native', vocabulary: 'branded' },
  memcached: { type: 'cache', vocabulary: 'branded' },
};

/** A bucket is shown in the vocabulary in which it was created; without an explicit type, in the node's own. */
export function bucketType(
  sent: string | undefined,
  wireNames: Vocabulary,
  problems: Problems,
): { type: BucketType; vocabulary: Vocabulary } {
  if (sent === undefined) return { type: 'native', vocabulary: wireNames };
  if (sent === 'ephemeral') return { type: 'ephemeral', vocabulary: wireNames };
  const found = Object.hasOwn(types, sent) ? types[sent] : undefined;
  if (!found) problems.add('bucketType', 'invalid bucket type');
  return found ?? { type: 'native', vocabulary: wireNames };
}

export function bucketName(
  sent: string | undefined,
  existing: readonly StoredBucket[],
  problems: Problems,
): string {
  const problem = nameProblem(sent, existing);
  if (problem !== null) problems.add('name', problem);
  return sent ?? '';
}

function nameProblem(name: string | undefined, existing: readonly StoredBucket[]): string | null {
  if (name === undefined) return 'Bucket name needs to be specified';
  if (name === '') return 'Bucket name cannot be empty';
  if (Buffer.byteLength(name) > nameBytesMax) return 'Bucket name cannot exceed 100 characters';
  if (!/^[A-Za-z0-9_.%-]+$/.test(name)) {
    return 'Bucket name can only contain characters in range A-Z, a-z, 0-9 as well as underscore, period, dash & percent. Consult the documentation.';
  }
  const lower = name.toLowerCase();
  if (reservedPrefixes.some((prefix) => lower.startsWith(prefix))) {
    return 'This name is reserved for the internal use.';
  }
  if (name.startsWith('.')) return 'Bucket name cannot start with dot.';
  if (existing.some((bucket) => bucket.state === 'ready' && bucket.name.toLowerCase() === lower)) {
    return 'Bucket with given name already exists';
  }
  return null;
}
