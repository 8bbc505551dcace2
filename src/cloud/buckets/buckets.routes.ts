// Requests about buckets.
import type { ReadyClusters } from '../clusters/ready-cluster.ts';
import { notFound } from '../http/goof.ts';
import type { BoundOperation } from '../http/operation.ts';
import { bindBoth, type Version } from '../http/versions.ts';
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
  createBucket,
  deleteBucket,
  listBuckets,
  showBucket,
  updateBucket,
  updateBuckets,
} from './buckets.service.ts';

type Params = Readonly<Record<string, string>>;

export const bucketOperations = (ready: ReadyClusters): BoundOperation[] => [
  ...bindBoth(ListBuckets, async ({ caller, params }, version) => {
    const { client } = await ready.forReading(caller, idOf(params), version);
    return { status: 200, body: await listBuckets(client) };
  }),
  ...bindBoth(ShowBucket, async ({ caller, params }, version) => {
    const { client } = await ready.forReading(caller, idOf(params), version);
    return { status: 200, body: await showBucket(client, namedBy(params)) };
  }),
  ...bindBoth(CreateBucket, async ({ caller, params, body }, version) => {
    const { client } = await ready.forWriting(caller, idOf(params), version);
    await createBucket(client, body);
    return { status: 201, headers: locationOf(params, version, body.name), body };
  }),
  ...bindBoth(UpdateBuckets, async ({ caller, params, body }, version) => {
    const { client } = await ready.forWriting(caller, idOf(params), version);
    return { status: 201, body: await updateBuckets(client, body) };
  }),
  ...bindBoth(DeleteBucket, async ({ caller, params, body }, version) => {
    const { client } = await ready.forWriting(caller, idOf(params), version);
    await deleteBucket(client, body.name);
    return { status: 202, headers: locationOf(params, version, body.name) };
  }),
  ...bindBoth(UpdateBucket, async ({ caller, params, body }, version) => {
    const { client } = await ready.forWriting(caller, idOf(params), version);
    await updateBucket(client, namedBy(params), body);
    return { status: 202 };
  }),
  ...bindBoth(DeleteSingleBucket, async ({ caller, params }, version) => {
    const { client } = await ready.forWriting(caller, idOf(params), version);
    await deleteBucket(client, namedBy(params));
    return { status: 202, headers: locationOf(params, version, namedBy(params)) };
  }),
];

const idOf = (params: Params): string => params['id'] as string;

function namedBy(params: Params): string {
  const name = bucketNameOf(params['bucketId'] as string);
  if (name === null) throw notFound(`there is no bucket with the id ${params['bucketId']}`);
  return name;
}

const locationOf = (params: Params, version: Version, name: string) => ({
  location: `/${version}/clusters/${idOf(params)}/buckets/${bucketIdOf(name)}`,
});
