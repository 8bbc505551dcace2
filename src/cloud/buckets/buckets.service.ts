// Rules of buckets. The nodes of a cluster store its buckets; the cloud stores nothing about them.
import type { RestReply } from '#client/rest.adapter.ts';
import { ApiError, invalid, notFound } from '../answers/api-error.ts';
import type { ReadyCluster } from '../clusters/ready-cluster.ts';
import type { DatabaseUsersService } from '../database-users/database-users.service.ts';
import type { NodeClient } from '../node-client/node-client.ts';
import { freeText, quotaOf } from '../node-client/quota.ts';
import { problemsOf, requireAccepted } from '../node-client/refusals.ts';
import {
  type BucketEdit,
  type BucketItem,
  type BucketSpec,
  bucketIdOf,
  memoryQuotaMin,
} from './buckets.contract.ts';

/** The cloud's field for each field of the node's API. */
const cloudFieldOf = {
  ramQuotaMB: 'memoryQuota',
  replicaNumber: 'replicas',
  conflictResolutionType: 'conflictResolution',
};
const mb = 1024 * 1024;

type Change = Pick<BucketEdit, 'memoryQuota' | 'replicas'>;

interface NodeBucket {
  name: string;
  quota: { rawRAM: number };
  replicaNumber: number;
  conflictResolutionType: string;
  nodes: { status: string }[];
}

export async function listBuckets(client: NodeClient): Promise<BucketItem[]> {
  const buckets = JSON.parse(await client.request('GET', '/pools/default/buckets')) as NodeBucket[];
  return buckets.map(itemOf).sort((a, b) => (a.name < b.name ? -1 : 1));
}

export async function showBucket(client: NodeClient, name: string): Promise<BucketItem> {
  const found = (await listBuckets(client)).find((bucket) => bucket.name === name);
  if (found === undefined) throw unknownBucket(name);
  return found;
}

export async function createBucket(client: NodeClient, spec: BucketSpec): Promise<void> {
  const answer = await client.send('POST', '/pools/default/buckets', {
    name: spec.name,
    bucketType: 'membase',
    ramQuotaMB: spec.memoryQuota,
    replicaNumber: spec.replicas,
    conflictResolutionType: spec.conflictResolution,
  });
  await requireBucketAccepted(client, answer, spec);
}

/**
 * Changes all buckets or none: all changes are checked before the first is applied, and if the node refuses one or does not confirm
 * it, those made so far are undone. Shrinking buckets come first, to make room for the others. Resolves with the first bucket of the request.
 */
export async function updateBuckets(client: NodeClient, edits: readonly BucketEdit[]): Promise<BucketSpec> {
  const present = new Map((await listBuckets(client)).map((bucket) => [bucket.name, bucket]));
  for (const edit of edits) requireEditable(edit, present.get(edit.name));
  const presentOf = ({ name }: BucketEdit): BucketItem => present.get(name) as BucketItem;
  const growth = (edit: BucketEdit): number => edit.memoryQuota - presentOf(edit).memoryQuota;
  const quota = await quotaOf(client);
  const more = edits.reduce((sum, edit) => sum + growth(edit), 0);
  if (more > quota.freeMb)
    throw invalid(`memoryQuota: these buckets take ${more} MB more, and ${freeText(quota)}`);
  const inOrder = edits.toSorted((a, b) => growth(a) - growth(b));
  for (const edit of inOrder) await validateEdit(client, edit, growth(edit) > 0);
  await updateAllOrNone(client, inOrder, presentOf);
  const [first] = edits as [BucketEdit];
  return specOf(presentOf(first), first);
}

/** Asks the node to validate one change, without the quota if the bucket grows: `updateBuckets` has checked the sum of all changes. */
async function validateEdit(client: NodeClient, edit: BucketEdit, grows: boolean): Promise<void> {
  const fields = fieldsOf(edit);
  if (grows) delete fields.ramQuotaMB;
  const answer = await client.send('POST', `${pathOf(edit.name)}?just_validate=1`, fields);
  if (answer.status === 404) throw unknownBucket(edit.name);
  const problems = Object.entries(problemsOf(answer));
  const texts = problems.map(([field, text]) => [field, `bucket "${edit.name}": ${text}`]);
  if (problems.length > 0) requireAccepted(answer, cloudFieldOf, Object.fromEntries(texts));
}

async function updateAllOrNone(
  client: NodeClient,
  edits: readonly BucketEdit[],
  presentOf: (edit: BucketEdit) => BucketItem,
): Promise<void> {
  const changed: BucketItem[] = [];
  try {
    for (const edit of edits) {
      // Recorded before the request: the node may make the change and not confirm it.
      changed.unshift(presentOf(edit));
      const answer = await sendChange(client, edit.name, edit);
      if (answer.status >= 400 && answer.status < 500) changed.shift();
      await requireChanged(client, answer, edit);
    }
  } catch (error) {
    await undo(client, changed, error as Error);
    throw error;
  }
}

/** Undoes the changes in reverse order, so that buckets that had made room get it back. */
async function undo(client: NodeClient, changed: readonly BucketItem[], reason: Error): Promise<void> {
  const remaining = [...changed];
  try {
    for (const bucket of changed) {
      await updateBucket(client, bucket.name, bucket);
      remaining.shift();
    }
  } catch (error) {
    const names = remaining.map(({ name }) => `"${name}"`).join(', ');
    throw invalid(
      `${reason.message}; these buckets may have the new settings, because undoing failed (${(error as Error).message}): ${names}`,
    );
  }
}

export async function updateBucket(client: NodeClient, name: string, change: Change): Promise<void> {
  await requireChanged(client, await sendChange(client, name, change), { name, ...change });
}

const sendChange = (client: NodeClient, name: string, change: Change): Promise<RestReply> =>
  client.send('POST', pathOf(name), fieldsOf(change));

/** Throws unless the node made the change. */
async function requireChanged(
  client: NodeClient,
  answer: RestReply,
  { name, memoryQuota }: Change & { name: string },
): Promise<void> {
  if (answer.status === 404) throw unknownBucket(name);
  await requireBucketAccepted(client, answer, { name, memoryQuota });
}

/**
 * Deletes a bucket and the access of users to it. For an unknown bucket it deletes the access too, and then throws: the bucket may be
 * one whose earlier deletion succeeded without an answer. When the outcome of a deletion is unknown, the users with access to the bucket are
 * recorded as unconfirmed, and sent to the node again later.
 */
export async function deleteBucketAndAccess(
  cluster: ReadyCluster,
  users: Pick<DatabaseUsersService, 'bucketDeletionUnconfirmed' | 'removeBucketAccess'>,
  name: string,
): Promise<void> {
  try {
    await deleteBucket(cluster.client, name);
  } catch (error) {
    if (error instanceof ApiError && error.errorType === 'NotFound')
      await users.removeBucketAccess(cluster, name);
    else await users.bucketDeletionUnconfirmed(cluster, name);
    throw error;
  }
  await users.removeBucketAccess(cluster, name);
}

/**
 * Creates a bucket. If the node did not answer the deletion of an earlier bucket of this name, users may still have access to the name:
 * that access is removed first.
 */
export async function clearAccessAndCreateBucket(
  cluster: ReadyCluster,
  users: Pick<DatabaseUsersService, 'hasBucketAccess' | 'removeBucketAccess'>,
  spec: BucketSpec,
): Promise<void> {
  const { client } = cluster;
  const { name } = spec;
  if (await users.hasBucketAccess(cluster, name)) {
    const isPresent = (await listBuckets(client)).some((bucket) => bucket.name === name);
    if (!isPresent) await users.removeBucketAccess(cluster, name);
  }
  await createBucket(client, spec);
}

/** The node answers with an error if the deletion takes long, but it has accepted the deletion. */
export async function deleteBucket(client: NodeClient, name: string): Promise<void> {
  const answer = await client.send('DELETE', pathOf(name));
  if (answer.status === 404) throw unknownBucket(name);
  if (answer.status >= 500 && !(await listBuckets(client)).some((bucket) => bucket.name === name)) return;
  requireAccepted(answer, cloudFieldOf);
}

/** Throws unless the node accepted the bucket; for a quota that does not fit, the error names one that would. */
async function requireBucketAccepted(
  client: NodeClient,
  answer: RestReply,
  { name, memoryQuota }: { name: string; memoryQuota: number },
): Promise<void> {
  if (answer.status < 300 || !('ramQuotaMB' in problemsOf(answer)))
    return requireAccepted(answer, cloudFieldOf);
  const present = (await listBuckets(client)).find((bucket) => bucket.name === name)?.memoryQuota ?? 0;
  const quota = await quotaOf(client);
  const more = memoryQuota - present;
  if (more <= quota.freeMb) return requireAccepted(answer, cloudFieldOf);
  const most = present + quota.freeMb;
  const advice = most < memoryQuotaMin ? '' : `ask for ${memoryQuotaMin} to ${most} MB, or `;
  const ramQuotaMB = `bucket "${name}" takes ${more} MB more, and ${freeText(quota, advice)}`;
  requireAccepted(answer, cloudFieldOf, { ramQuotaMB });
}

function requireEditable({ name, conflictResolution }: BucketEdit, present: BucketItem | undefined): void {
  if (present === undefined) throw unknownBucket(name);
  if (conflictResolution !== undefined && conflictResolution !== present.conflictResolution) {
    throw invalid(
      `conflictResolution: bucket "${name}" has ${present.conflictResolution}, which cannot change`,
    );
  }
}

const fieldsOf = ({ memoryQuota, replicas }: Change): { ramQuotaMB?: number; replicaNumber?: number } => ({
  ramQuotaMB: memoryQuota,
  ...(replicas !== undefined && { replicaNumber: replicas }),
});

const unknownBucket = (name: string): ApiError => notFound(`there is no bucket "${name}"`);
const pathOf = (name: string): string => `/pools/default/buckets/${encodeURIComponent(name)}`;

const itemOf = (bucket: NodeBucket): BucketItem => ({
  id: bucketIdOf(bucket.name),
  name: bucket.name,
  memoryQuota: bucket.quota.rawRAM / mb,
  replicas: bucket.replicaNumber,
  conflictResolution: bucket.conflictResolutionType as BucketItem['conflictResolution'],
  status: statusOf(bucket),
});

/** `unhealthy` if a node is, else the status of the first node that is not healthy. */
function statusOf({ nodes }: NodeBucket): string {
  const statuses = nodes.map(({ status }) => status);
  if (statuses.includes('unhealthy')) return 'unhealthy';
  return statuses.find((status) => status !== 'healthy') ?? statuses[0] ?? 'unknown';
}

const specOf = (present: BucketItem, edit: BucketEdit): BucketSpec => ({
  name: present.name,
  memoryQuota: edit.memoryQuota,
  replicas: edit.replicas ?? present.replicas,
  conflictResolution: present.conflictResolution,
});
