// What happens on the first start only: provisioning, then the users, buckets, collections and documents of the plan.
// All of it goes through the node's own REST API and data port, as any client's set-up would.

import { KvClient, type StoredDocument } from '#client/kv.adapter.ts';
import { type RestFields, type RestTarget, refusal, rest, restOk } from '#client/rest.adapter.ts';
import { realClock } from '#ports/clock.ts';
import { bucketFields, type InitPlan, keptOnDisk, type PlannedBucket } from './init-plan.ts';

export interface FirstStart {
  rest: RestTarget;
  kv: { host: string; port: number; localAddress: string | undefined };
  services: string;
  memoryQuotaMb: number | undefined;
  plan: InitPlan;
}

const kvTimeoutMs = 30_000;
const observedAtOnce = 1_000;

/** Sets services, memory and the administrator. */
export async function provision(
  start: FirstStart,
  credentials: { username: string; password: string },
): Promise<void> {
  const fields: RestFields = {
    services: start.services,
    port: 'SAME',
    ...credentials,
    ...(start.memoryQuotaMb !== undefined && { memoryQuota: start.memoryQuotaMb }),
  };
  await restOk(start.rest, 'POST', '/clusterInit', fields);
}

export async function applyPlan(start: FirstStart): Promise<void> {
  for (const bucket of start.plan.buckets) await makeBucket(start, bucket);
  for (const { name, password, displayName, roles } of start.plan.users) {
    const path = `/settings/rbac/users/local/${encodeURIComponent(name)}`;
    await restOk(start.rest, 'PUT', path, { name: displayName ?? '', password, roles: roles.join(',') });
  }
}

async function makeBucket(start: FirstStart, bucket: PlannedBucket): Promise<void> {
  const { name } = bucket;
  await make(start, '/pools/default/buckets', bucketFields(bucket));
  const scopes = `/pools/default/buckets/${encodeURIComponent(name)}/scopes`;
  for (const scope of bucket.scopes) {
    if (scope.name !== '_default') await make(start, scopes, { name: scope.name });
    for (const collection of scope.collections) {
      const fields = typeof collection === 'string' ? { name: collection } : (collection as RestFields);
      await make(start, `${scopes}/${encodeURIComponent(scope.name)}/collections`, fields);
    }
  }
  if (bucket.documents.length > 0) await storeDocuments(start, bucket);
}

/** Takes what is there already for made: an earlier first start may have come this far before it was ended. */
async function make(start: FirstStart, path: string, fields: RestFields): Promise<void> {
  const answer = await rest(start.rest, 'POST', path, fields);
  if (answer.status < 300 || /already exists/.test(answer.body)) return;
  throw refusal('POST', path, answer);
}

/** Resolves once they are kept: from then on nobody stores them again. */
async function storeDocuments(start: FirstStart, bucket: PlannedBucket): Promise<void> {
  const client = await KvClient.open(start.kv.host, start.kv.port, kvTimeoutMs, start.kv.localAddress);
  try {
    await client.login(start.rest.username ?? '', start.rest.password ?? '');
    await client.select(bucket.name, kvTimeoutMs);
    const all: StoredDocument[] = [];
    for (const { key, value, scope, collection, expiry } of bucket.documents) {
      const collectionId = await client.collectionId(scope, collection);
      const stored = { collectionId, key };
      await client.set(stored, Buffer.from(JSON.stringify(value)), expiry, kvTimeoutMs);
      all.push(stored);
    }
    if (keptOnDisk.has(bucket.type)) await untilPersisted(client, bucket.name, all);
  } finally {
    client.close();
  }
}

async function untilPersisted(
  client: KvClient,
  bucket: string,
  documents: readonly StoredDocument[],
): Promise<void> {
  const deadline = realClock.monotonicMs() + kvTimeoutMs;
  for (let at = 0; at < documents.length; at += observedAtOnce) {
    const some = documents.slice(at, at + observedAtOnce);
    while (!(await client.arePersisted(some))) {
      if (realClock.monotonicMs() >= deadline)
        throw new Error(`the documents of bucket "${bucket}" are not on disk after ${kvTimeoutMs / 1000} s`);
      await realClock.sleep(5);
    }
  }
}
