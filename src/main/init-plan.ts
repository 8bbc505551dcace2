// What a node is to hold on its first start: from `--bucket` flags and the `--init` file.
import { UsageError } from './options.ts';

export const bucketTypes = ['couchbase', 'membase', 'native', 'ephemeral', 'memcached', 'cache'] as const;
/** Of the other types nothing is. */
export const keptOnDisk: ReadonlySet<string> = new Set<PlannedBucket['type']>([
  'couchbase',
  'membase',
  'native',
]);

export interface PlannedBucket {
  name: string;
  type: (typeof bucketTypes)[number];
  ramQuotaMB: number;
  replicaNumber: number;
  /** Further parameters of bucket creation, as the REST API takes them: `{"flushEnabled":1}`. */
  parameters: Record<string, string | number | boolean>;
  scopes: { name: string; collections: (string | { name: string; maxTTL?: number | undefined })[] }[];
  documents: { key: string; value: unknown; scope: string; collection: string; expiry: number }[];
}

export interface PlannedUser {
  name: string;
  password: string;
  displayName?: string | undefined;
  roles: string[];
}

export interface InitPlan {
  users: PlannedUser[];
  buckets: PlannedBucket[];
}

/** `NAME[:TYPE[:QUOTAMB]]` of `--bucket`. */
export function parseBucketFlag(text: string): PlannedBucket {
  const [name = '', typeName = 'couchbase', quota = '100', ...rest] = text.split(':');
  if (name === '' || rest.length > 0)
    throw new UsageError(`"${text}" is not of the form NAME[:TYPE[:QUOTAMB]]`);
  const type = bucketTypes.find((known) => known === typeName);
  if (type === undefined) {
    throw new UsageError(`"${typeName}" in "${text}" is not a bucket type (${bucketTypes.join(', ')})`);
  }
  if (!/^\d{1,7}$/.test(quota)) throw new UsageError(`"${quota}" in "${text}" is not a number of megabytes`);
  return {
    name,
    type,
    ramQuotaMB: Number(quota),
    replicaNumber: 0,
    parameters: {},
    scopes: [],
    documents: [],
  };
}

/** Flags and file as one plan; a bucket named by both is an error. */
export function planOf(flags: readonly PlannedBucket[], file: InitPlan | null): InitPlan {
  const buckets = [...flags, ...(file?.buckets ?? [])];
  const seen = new Set<string>();
  for (const { name } of buckets) {
    if (seen.has(name.toLowerCase())) throw new UsageError(`bucket "${name}" is asked for twice`);
    seen.add(name.toLowerCase());
  }
  return { users: file?.users ?? [], buckets };
}

export const isEmptyPlan = (plan: InitPlan): boolean => plan.users.length === 0 && plan.buckets.length === 0;
