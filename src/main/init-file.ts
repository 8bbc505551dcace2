// The schema of the `--init` file; errors name the path of a wrong value. Loaded only for such a file, since the schema
// library costs a start some 60 ms.
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { exactJson } from '#base/exact-json.ts';
import { bucketTypes, type InitPlan, type PlannedCluster } from './init-plan.ts';
import { UsageError } from './options.ts';

const collection = z.union([
  z.string(),
  z.strictObject({ name: z.string(), maxTTL: z.int().min(0).optional() }),
]);
/** Expiries have 32 bits. */
const expiryMax = 2 ** 32 - 1;
const document = z.strictObject({
  key: z.string().min(1),
  /** Any JSON; a number that is too large is Infinity here, and stored with its own digits. */
  value: z.unknown(),
  scope: z.string().default('_default'),
  collection: z.string().default('_default'),
  expiry: z.int().min(0).max(expiryMax).default(0),
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
const filePath = z.string().min(1).optional();
const remoteCluster = z.strictObject({
  name: z.string(),
  hostname: z.string(),
  username: z.string().default(''),
  password: z.string().default(''),
  secureType: z.enum(['none', 'half', 'full']).default('none'),
  networkType: z.enum(['default', 'external']).default('default'),
  certificateFile: filePath,
  clientCertificateFile: filePath,
  clientKeyFile: filePath,
});
const replication = z.strictObject({
  fromBucket: z.string(),
  toCluster: z.string(),
  toBucket: z.string(),
  /** Further parameters, as the REST API takes them; `colMappingRules` as an object. */
  parameters: z.record(z.string(), z.json()).default({}),
});
const initFile = z.strictObject({
  users: z.array(user).default([]),
  buckets: z.array(bucket).default([]),
  statements: z.array(z.string()).default([]),
  restore: z.string().min(1).optional(),
  remoteClusters: z.array(remoteCluster).default([]),
  replications: z.array(replication).default([]),
});

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
  const { buckets, restore, remoteClusters, replications } = parsed.data;
  const written = exactJson(text) as Written;
  return {
    ...parsed.data,
    buckets: buckets.map((one, index) => ({
      ...one,
      documents: one.documents.map((stored, at) => ({
        ...stored,
        value: written.buckets?.[index]?.documents?.[at]?.value,
      })),
    })),
    restore: restore === undefined ? null : resolve(dirname(path), restore),
    remoteClusters: remoteClusters.map((cluster, index) => clusterOf(cluster, index, path)),
    replications: replications.map(({ parameters, ...names }) => ({
      ...names,
      parameters: texts(parameters),
    })),
  };
}

/** The file with the digits of its numbers. */
interface Written {
  readonly buckets?: readonly { readonly documents?: readonly { readonly value: unknown }[] }[];
}

/** A remote cluster; the init file names files relative to itself. */
function clusterOf(cluster: z.infer<typeof remoteCluster>, index: number, path: string): PlannedCluster {
  const { certificateFile, clientCertificateFile, clientKeyFile, networkType, ...fields } = cluster;
  const contentOf = (field: string, file: string | undefined): string => {
    if (file === undefined) return '';
    try {
      return readFileSync(resolve(dirname(path), file), 'utf8');
    } catch (error) {
      const place = `remoteClusters.${index}.${field}`;
      throw new UsageError(`--init: ${path}: ${place}: cannot read ${file}: ${(error as Error).message}`);
    }
  };
  return {
    ...fields,
    network_type: networkType,
    certificate: contentOf('certificateFile', certificateFile),
    clientCertificate: contentOf('clientCertificateFile', clientCertificateFile),
    clientKey: contentOf('clientKeyFile', clientKeyFile),
  };
}

const texts = (parameters: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );

const problems = (error: z.ZodError): string =>
  error.issues.map((issue) => `${issue.path.join('.') || 'file'}: ${issue.message}`).join('; ');
