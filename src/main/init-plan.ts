// What a node is to hold on its first start: from `--bucket` flags and the `--init` file.
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { UsageError } from './options.ts';

const bucketTypes = ['couchbase', 'membase', 'native', 'ephemeral', 'memcached', 'cache'] as const;

const collection = z.union([
  z.string(),
  z.strictObject({ name: z.string(), maxTTL: z.int().min(0).optional() }),
]);
const document = z.strictObject({
  key: z.string().min(1),
  value: z.json(),
  scope: z.string().default('_default'),
  collection: z.string().default('_default'),
  expiry: z.int().min(0).default(0),
});
const bucket = z.strictObject({
  name: z.string(),
  type: z.enum(bucketTypes).default('couchbase'),
  ramQuotaMB: z.int().min(1).default(100),
  replicaNumber: z.int().min(0).max(3).default(0),
  /** Further parameters of bucket creation, as the REST API takes them: `{"flushEnabled":1}`. */
  parameters: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
  scopes: z
    .array(z.strictObject({ name: z.string(), collections: z.array(collection).default([]) }))
    .default([]),
  documents: z.array(document).default([]),
});
const user = z.strictObject({
  name: z.string(),
  password: z.string(),
  displayName: z.string().optional(),
  roles: z.array(z.string()).default([]),
});
const initFile = z.strictObject({ users: z.array(user).default([]), buckets: z.array(bucket).default([]) });

export type InitPlan = z.output<typeof initFile>;
export type PlannedBucket = InitPlan['buckets'][number];

/** `NAME[:TYPE[:QUOTAMB]]` of `--bucket`. */
export function parseBucketFlag(text: string): PlannedBucket {
  const [name = '', type = 'couchbase', quota = '100', ...rest] = text.split(':');
  const form = 'of the form NAME[:TYPE[:QUOTAMB]]';
  if (name === '' || rest.length > 0) throw new UsageError(`"${text}" is not ${form}`);
  if (!bucketTypes.some((known) => known === type)) {
    throw new UsageError(`"${type}" in "${text}" is not a bucket type (${bucketTypes.join(', ')})`);
  }
  if (!/^\d{1,7}$/.test(quota)) throw new UsageError(`"${quota}" in "${text}" is not a number of megabytes`);
  return bucket.parse({ name, type, ramQuotaMB: Number(quota) });
}

export function readInitFile(path: string): InitPlan {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`--init: cannot read ${path}: ${(error as Error).message}`);
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--init: ${path} is not JSON: ${(error as Error).message}`);
  }
  const parsed = initFile.safeParse(json);
  if (!parsed.success) throw new UsageError(`--init: ${path}: ${problems(parsed.error)}`);
  return parsed.data;
}

const problems = (error: z.ZodError): string =>
  error.issues.map((issue) => `${issue.path.join('.') || 'file'}: ${issue.message}`).join('; ');

/** Both sources as one plan; a bucket named by both is an error. */
export function planOf(flags: readonly PlannedBucket[], initPath: string | undefined): InitPlan {
  const file = initPath === undefined ? { users: [], buckets: [] } : readInitFile(initPath);
  const buckets = [...flags, ...file.buckets];
  const seen = new Set<string>();
  for (const { name } of buckets) {
    if (seen.has(name.toLowerCase())) throw new UsageError(`bucket "${name}" is asked for twice`);
    seen.add(name.toLowerCase());
  }
  return { users: file.users, buckets };
}

export const isEmptyPlan = (plan: InitPlan): boolean => plan.users.length === 0 && plan.buckets.length === 0;
