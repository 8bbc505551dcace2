// Operations on the buckets of a cluster.
import { z } from 'zod';
import { choice, component, integer, text } from '../answers/component.ts';
import { defineOperation } from '../http/operation.ts';

const bucketName = () => text(1, 100);
export const memoryQuotaMin = 100;
const memoryQuota = () => integer(memoryQuotaMin);
const replicasMax = 3;
const bucketsMax = 30;
const conflictResolution = choice('conflictResolution', ['lww', 'seqno']);

export const bucketSpec = component('BucketSpec', {
  name: bucketName(),
  memoryQuota: memoryQuota().describe('MB on each node'),
  replicas: integer(0, replicasMax).default(1),
  conflictResolution: conflictResolution.default('seqno'),
});
export type BucketSpec = z.output<typeof bucketSpec>;

/** In an edit, omitted fields stay unchanged. */
const bucketEdit = z.strictObject({
  name: bucketName(),
  memoryQuota: memoryQuota(),
  replicas: integer(0, replicasMax).optional(),
  conflictResolution: conflictResolution.optional(),
});
export type BucketEdit = z.output<typeof bucketEdit>;

const bucketItem = component('ListBucketItem', {
  id: z.string(),
  name: z.string(),
  memoryQuota: z.int(),
  replicas: z.int(),
  conflictResolution,
  status: z.string(),
});
export type BucketItem = z.output<typeof bucketItem>;

const bucketsPath = '/v2/clusters/{id}/buckets';
const shared = { access: 'token', subject: 'cluster', malformedId: 422 } as const;

export const ListBuckets = defineOperation({
  ...shared,
  id: 'clusters/list-buckets',
  method: 'GET',
  path: bucketsPath,
  doc: 'All buckets, by name.',
  query: z.strictObject({}),
  replies: { 200: { doc: 'All buckets', body: z.array(bucketItem).meta({ id: 'ListBucketsResponse' }) } },
});

export const ShowBucket = defineOperation({
  ...shared,
  id: 'clusters/show-bucket',
  method: 'GET',
  path: `${bucketsPath}/{bucketId}`,
  doc: 'One bucket; 404 once it is deleted.',
  replies: { 200: { doc: 'The bucket', body: bucketItem } },
});

export const CreateBucket = defineOperation({
  ...shared,
  id: 'clusters/create-bucket',
  method: 'POST',
  path: bucketsPath,
  doc: 'Creates a bucket.',
  body: bucketSpec,
  replies: { 201: { doc: 'Created', body: bucketSpec, headers: { Location: 'the bucket' } } },
});

export const UpdateBuckets = defineOperation({
  ...shared,
  id: 'clusters/update-bucket',
  method: 'PUT',
  path: bucketsPath,
  doc: 'Changes the buckets in the list; others stay unchanged.',
  // Published clients send a list and expect one bucket in the reply.
  body: z
    .union([
      z
        .array(bucketEdit, 'must be a list of buckets')
        .min(1, 'must name at least one bucket')
        .max(bucketsMax, `must name at most ${bucketsMax} buckets`)
        .refine(
          (edits) => new Set(edits.map(({ name }) => name)).size === edits.length,
          'must name each bucket once',
        ),
      bucketEdit,
    ])
    .meta({ id: 'UpdateBucketSpec' }),
  replies: { 201: { doc: 'Changed: the first bucket of the list', body: bucketSpec } },
});

export const DeleteBucket = defineOperation({
  ...shared,
  id: 'clusters/delete-bucket',
  method: 'DELETE',
  path: bucketsPath,
  doc: 'Deletes the named bucket with its data.',
  body: component('DeleteBucketRequest', { name: bucketName() }),
  replies: { 202: { doc: 'Accepted', headers: { Location: 'the deleted bucket' } } },
});

export const UpdateBucket = defineOperation({
  ...shared,
  id: 'clusters/update-single-bucket',
  method: 'PUT',
  path: `${bucketsPath}/{bucketId}`,
  doc: 'Changes the memory quota of a bucket.',
  body: component('UpdateBucketRequest', { memoryQuota: memoryQuota() }),
  replies: { 202: { doc: 'Accepted' } },
});

export const DeleteSingleBucket = defineOperation({
  ...shared,
  id: 'clusters/delete-single-bucket',
  method: 'DELETE',
  path: `${bucketsPath}/{bucketId}`,
  doc: 'Deletes a bucket with its data.',
  replies: { 202: { doc: 'Accepted', headers: { Location: 'the deleted bucket' } } },
});

/** URL-safe base64 of the name. */
export const bucketIdOf = (name: string): string => Buffer.from(name).toString('base64url');

/** Null if the text is not a bucket id. */
export function bucketNameOf(id: string): string | null {
  const name = Buffer.from(id, 'base64url').toString();
  return name !== '' && bucketIdOf(name) === id.replace(/=+$/, '') ? name : null;
}
