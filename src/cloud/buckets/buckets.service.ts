// Buckets live in the node; nothing of them is kept here.
import { invalid, notFound } from '../http/goof.ts';
import type { NodeClient } from '../node-client/node-client.ts';
import { accepted } from '../node-client/refusals.ts';
import { type BucketEdit, type BucketItem, type BucketSpec, bucketIdOf } from './buckets.contract.ts';

/** The node's names of our fields. */
const names = {
  ramQuotaMB: 'memoryQuota',
  ramQuota: 'memoryQuota',
  replicaNumber: 'replicas',
  conflictResolutionType: 'conflictResolution',
};
const mb = 1024 * 1024;

interface NodeBucket {
  name: string;
  quota: { rawRAM: number };
  replicaNumber: number;
  conflictResolutionType: string;
  nodes: { status: string }[];
}

export async function listBuckets(client: NodeClient): Promise<BucketItem[]> {
  const buckets = JSON.parse(await client.ask('GET', '/pools/default/buckets')) as NodeBucket[];
  return buckets.map(itemOf).sort((a, b) => (a.name < b.name ? -1 : 1));
}

export async function showBucket(client: NodeClient, name: string): Promise<BucketItem> {
  const found = (await listBuckets(client)).find((bucket) => bucket.name === name);
  if (found === undefined) throw notFound(`there is no bucket "${name}"`);
  return found;
}

export async function createBucket(client: NodeClient, spec: BucketSpec): Promise<void> {
  const answer = await client.request('POST', '/pools/default/buckets', {
    name: spec.name,
    bucketType: 'membase',
    ramQuotaMB: spec.memoryQuota,
    replicaNumber: spec.replicas,
    conflictResolutionType: spec.conflictResolution,
  });
  accepted(answer, names);
}

/** All are checked before the first is changed. Answers the first that is named. */
export async function updateBuckets(client: NodeClient, edits: readonly BucketEdit[]): Promise<BucketSpec> {
  const present = new Map((await listBuckets(client)).map((bucket) => [bucket.name, bucket]));
  for (const edit of edits) refuseEdit(edit, present.get(edit.name));
  for (const { name, memoryQuota, replicas } of edits)
    await updateBucket(client, name, { memoryQuota, replicas });
  return specOf(await showBucket(client, (edits[0] as BucketEdit).name));
}

export async function updateBucket(
  client: NodeClient,
  name: string,
  { memoryQuota, replicas }: { memoryQuota: number; replicas?: number | undefined },
): Promise<void> {
  await showBucket(client, name);
  const fields = { ramQuotaMB: memoryQuota, ...(replicas !== undefined && { replicaNumber: replicas }) };
  accepted(await client.request('POST', pathOf(name), fields), names);
}

export async function deleteBucket(client: NodeClient, name: string): Promise<void> {
  await showBucket(client, name);
  accepted(await client.request('DELETE', pathOf(name)), names);
}

function refuseEdit({ name, conflictResolution }: BucketEdit, present: BucketItem | undefined): void {
  if (present === undefined) throw notFound(`there is no bucket "${name}"`);
  if (conflictResolution !== undefined && conflictResolution !== present.conflictResolution) {
    throw invalid(
      `conflictResolution: bucket "${name}" has ${present.conflictResolution}, which cannot change`,
    );
  }
}

const pathOf = (name: string): string => `/pools/default/buckets/${encodeURIComponent(name)}`;

const itemOf = (bucket: NodeBucket): BucketItem => ({
  id: bucketIdOf(bucket.name),
  name: bucket.name,
  memoryQuota: bucket.quota.rawRAM / mb,
  replicas: bucket.replicaNumber,
  conflictResolution: bucket.conflictResolutionType as BucketItem['conflictResolution'],
  status: bucket.nodes[0]?.status ?? 'unknown',
});

const specOf = ({ name, memoryQuota, replicas, conflictResolution }: BucketItem): BucketSpec => ({
  name,
  memoryQuota,
  replicas,
  conflictResolution,
});
