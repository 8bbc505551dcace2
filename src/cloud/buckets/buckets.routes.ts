// Handlers for buckets.

import { notFound } from '../answers/api-error.ts';
import type { ReadyClusters } from '../clusters/ready-cluster.ts';
import type { DatabaseUsersService } from '../database-users/database-users.service.ts';
import type { BoundOperation } from '../http/operation.ts';
import { bindBoth, type Version } from '../http/versions.ts';
import type { ClusterRow } from '../store/tables.ts';
import {
  bucketIdOf,
  bucketNameOf,
  CreateBucket,
  DeleteBucket,
  DeleteSingleBucket,
  ListBuckets,
  ShowBucket,
  UpdateBucket,
  UpdateBuckets,
} from './buckets.contract.ts';
import {
  clearAccessAndCreateBucket,
  deleteBucketAndAccess,
  listBuckets,
  showBucket,
  updateBucket,
  updateBuckets,
} from './buckets.service.ts';

type Params = Readonly<Record<string, string>>;

export const bucketOperations = (ready: ReadyClusters, users: DatabaseUsersService): BoundOperation[] => [
  ...bindBoth(ListBuckets, async ({ subject }) => {
    const { client } = await ready.requireReady(subject);
    return { status: 200, body: await listBuckets(client) };
  }),
  ...bindBoth(ShowBucket, async ({ params, subject }) => {
    const { client } = await ready.requireReady(subject);
    return { status: 200, body: await showBucket(client, namedBy(params)) };
  }),
  ...bindBoth(CreateBucket, async ({ subject, body }, version) => {
    await clearAccessAndCreateBucket(await ready.requireReady(subject), users, body);
    return { status: 201, headers: locationOf(subject, version, body.name), body };
  }),
  ...bindBoth(UpdateBuckets, async ({ subject, body }) => {
    const { client } = await ready.requireReady(subject);
    return { status: 201, body: await updateBuckets(client, Array.isArray(body) ? body : [body]) };
  }),
  ...bindBoth(DeleteBucket, async ({ subject, body }, version) => {
    const cluster = await ready.requireReady(subject);
    await deleteBucketAndAccess(cluster, users, body.name);
    return { status: 202, headers: locationOf(subject, version, body.name) };
  }),
  ...bindBoth(UpdateBucket, async ({ params, subject, body }) => {
    const { client } = await ready.requireReady(subject);
    await updateBucket(client, namedBy(params), body);
    return { status: 202 };
  }),
  ...bindBoth(DeleteSingleBucket, async ({ params, subject }, version) => {
    const cluster = await ready.requireReady(subject);
    const name = namedBy(params);
    await deleteBucketAndAccess(cluster, users, name);
    return { status: 202, headers: locationOf(subject, version, name) };
  }),
];

function namedBy(params: Params): string {
  const name = bucketNameOf(params['bucketId'] as string);
  if (name === null) throw notFound(`there is no bucket with the id ${params['bucketId']}`);
  return name;
}

const locationOf = ({ id }: ClusterRow, version: Version, name: string) => ({
  location: `/${version}/clusters/${id}/buckets/${bucketIdOf(name)}`,
});
