// The plan of a first start, from `--bucket` options and the `--init` file: users, buckets with documents, a backup, statements and replications.
import type { PlannedCollections } from '#query/host/awaited-keyspaces.ts';
import { UsageError } from './options.ts';

export const bucketTypes = ['couchbase', 'membase', 'native', 'ephemeral', 'memcached', 'cache'] as const;
/** The bucket types whose documents are persisted. */
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

/** The form that creates a reference to another cluster, with the contents of the files that the init file names. */
export type PlannedCluster = Readonly<Record<string, string>> & { readonly name: string };

export interface PlannedReplication {
  readonly fromBucket: string;
  readonly toCluster: string;
  readonly toBucket: string;
  /** Further parameters, as texts of the form. */
  readonly parameters: Readonly<Record<string, string>>;
}

export interface InitPlan {
  users: PlannedUser[];
  buckets: PlannedBucket[];
  /** SQL++ statements that run in this order, after everything but the replications was created. */
  statements: string[];
  /** The folder of a backup whose documents and definitions the node starts with. */
  restore: string | null;
  remoteClusters: readonly PlannedCluster[];
  replications: readonly PlannedReplication[];
}

/** `NAME[:TYPE[:QUOTAMB]]` of `--bucket`. */
export function parseBucketOption(text: string): PlannedBucket {
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

/** The form that creates the bucket over the REST API. */
export function bucketFields(bucket: PlannedBucket): Record<string, string | number | boolean> {
  const { name, type: bucketType, ramQuotaMB, replicaNumber, parameters } = bucket;
  const replicas = ['memcached', 'cache'].includes(bucketType) ? {} : { replicaNumber };
  return { name, bucketType, ramQuotaMB, ...replicas, ...parameters };
}

/** Merges the buckets of `--bucket` with the file. Bucket names are compared without case; errors name the file by `path`. */
export function planOf(flags: readonly PlannedBucket[], file: InitPlan | null, path = '--init'): InitPlan {
  const inFlags = distinctNames(flags, ({ name }) => `--bucket: "${name}" is given twice`);
  const inFile = file?.buckets ?? [];
  distinctNames(inFile, ({ name }, i) => `--init: ${path}: buckets.${i}.name: "${name}" is listed twice`);
  const both = inFile.find(({ name }) => inFlags.has(name.toLowerCase()));
  if (both !== undefined) throw new UsageError(`bucket "${both.name}" is in both --bucket and ${path}`);
  return {
    users: file?.users ?? [],
    buckets: [...flags, ...inFile],
    statements: file?.statements ?? [],
    restore: file?.restore ?? null,
    remoteClusters: file?.remoteClusters ?? [],
    replications: file?.replications ?? [],
  };
}

function distinctNames(
  buckets: readonly PlannedBucket[],
  problem: (bucket: PlannedBucket, index: number) => string,
): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [index, bucket] of buckets.entries()) {
    const name = bucket.name.toLowerCase();
    if (names.has(name)) throw new UsageError(problem(bucket, index));
    names.add(name);
  }
  return names;
}

export const isEmptyPlan = ({ restore, ...lists }: InitPlan): boolean =>
  restore === null && Object.values(lists).every(({ length }) => length === 0);

/** The buckets of a plan, with the names of their scopes and collections. */
export const plannedCollections = ({ buckets }: InitPlan): PlannedCollections[] =>
  buckets.map(({ name: bucket, scopes }) => ({
    bucket,
    scopes: scopes.map(({ name, collections }) => ({
      name,
      collections: collections.map((each) => (typeof each === 'string' ? each : each.name)),
    })),
  }));
