// The work of the first start only: provisioning, then what the plan contains: buckets with collections, the backup, documents, users,
// statements and replications, in this order. A client of the node's own REST API, data port and query service.

import { KvClient, type StoredDocument } from '#client/kv.adapter.ts';
import {
  type RestFields,
  type RestReply,
  type RestTarget,
  refusal,
  rest,
  restOk,
} from '#client/rest.adapter.ts';
import { realClock } from '#ports/clock.ts';
import { bucketFields, type InitPlan, keptOnDisk, type PlannedBucket } from './init-plan.ts';

export interface FirstStart {
  rest: RestTarget;
  kv: { host: string; port: number; localAddress: string | undefined };
  /** The query service; the port is 0 if this node does not run it, and then the plan has no statements. */
  query: RestTarget;
  /** Resolves once the services have applied the configuration: a query service that has just started knows no users. */
  configurationApplied(): Promise<unknown>;
  /** The path of the init file, for errors. */
  file: string;
  /** How many statements an interrupted first start has run, and the function that records the number. */
  statements: { done: number; note(count: number): void };
  /** As in the option --services: `kv,n1ql`. */
  services: string;
  memoryQuotaMb: number | undefined;
  nodeName: string | undefined;
  plan: InitPlan;
}

const kvTimeoutMs = 30_000;
/** Documents in one check of their persistence. */
const persistenceBatch = 1_000;
const persistencePollEveryMs = 5;
/** Long, since CREATE INDEX is answered when the index is online. */
const statementTimeoutMs = 3_600_000;

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
    ...(start.nodeName !== undefined && { hostname: start.nodeName }),
  };
  await restOk(start.rest, 'POST', '/clusterInit', fields);
}

export async function applyPlan(start: FirstStart): Promise<void> {
  for (const bucket of start.plan.buckets) await makeBucket(start, bucket);
  // Not repeated once a statement has run, since it may have changed the documents.
  if (start.statements.done === 0) await makeDocuments(start);
  for (const { name, password, displayName, roles } of start.plan.users) {
    const path = `/settings/rbac/users/local/${encodeURIComponent(name)}`;
    await restOk(start.rest, 'PUT', path, { name: displayName ?? '', password, roles: roles.join(',') });
  }
  await runStatements(start);
  await replicate(start);
}

async function replicate({ rest: target, plan, file }: FirstStart): Promise<void> {
  if (plan.remoteClusters.length === 0) return;
  // Loaded only for a plan with replications.
  const { makeReplications } = await import('./planned-replications.ts');
  const errorAt = (place: string, text: string) => new Error(`--init: ${file}: ${place}: ${text}`);
  await makeReplications(target, plan, errorAt);
}

/** Runs the statements one after another and records each, so that a resumed first start repeats none. */
async function runStatements(start: FirstStart): Promise<void> {
  const { plan, statements, query, file } = start;
  if (plan.statements.length > 0) await start.configurationApplied();
  for (const [index, statement] of plan.statements.entries()) {
    if (index < statements.done) continue;
    const content = JSON.stringify({ statement, scan_consistency: 'request_plus' });
    const answer = await rest({ ...query, timeoutMs: statementTimeoutMs }, 'POST', '/query/service', content);
    const problem = queryProblem(answer);
    if (problem !== null) throw new Error(`--init: ${file}: statements.${index}: ${problem}`);
    statements.note(index + 1);
  }
}

/** The error in an answer of the query service, or null. */
function queryProblem({ status: httpStatus, body }: RestReply): string | null {
  try {
    const { status, errors = [] } = JSON.parse(body) as {
      status?: string;
      errors?: { code: number; msg: string }[];
    };
    if (status === 'success' && errors.length === 0) return null;
    return errors.map(({ code, msg }) => `${code}: ${msg}`).join('; ') || `status ${status}`;
  } catch {
    return `${httpStatus} ${body.trim()}`.trim();
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
}

/** Documents of the init file replace those of the backup, so they are written last. */
async function makeDocuments(start: FirstStart): Promise<void> {
  const { restore, buckets } = start.plan;
  if (restore !== null) await restoreBackup(start, restore);
  for (const bucket of buckets) if (bucket.documents.length > 0) await storeDocuments(start, bucket);
}

/** Resolves once the documents are on disk. */
async function restoreBackup(start: FirstStart, folder: string): Promise<void> {
  // Loaded only for a plan with a backup.
  const { BackupNode } = await import('#backup/node/backup-node.ts');
  const { runRestore } = await import('#backup/restore/run-restore.adapter.ts');
  const { backupPassphrase } = await import('./backup/passphrase.ts');
  const { host, port, username = '', password = '', localAddress } = start.rest;
  const withIndexes = start.services.split(',').includes('n1ql');
  if (withIndexes) await start.configurationApplied();
  const node = new BackupNode({ host, port, username, password, localAddress });
  const { problems } = await runRestore(
    {
      folder,
      buckets: [],
      map: [],
      replaces: false,
      isForced: false,
      createsBuckets: true,
      withIndexes,
      resumes: false,
      awaitsDisk: true,
      passphrase: backupPassphrase(),
    },
    { node, clock: realClock, signal: new AbortController().signal, progress: () => {} },
  );
  if (problems.length > 0) throw new Error(`--init: ${start.file}: restore: ${problems.join('; ')}`);
}

/** Accepts what exists already: an interrupted first start may have created it. */
async function make(start: FirstStart, path: string, fields: RestFields): Promise<void> {
  const answer = await rest(start.rest, 'POST', path, fields);
  if (answer.status < 300 || /already exists/.test(answer.body)) return;
  throw refusal('POST', path, answer);
}

/** Resolves once the documents are on disk: a start that is resumed after the first statement does not store them again. */
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
  const deadlineMs = realClock.monotonicMs() + kvTimeoutMs;
  for (let at = 0; at < documents.length; at += persistenceBatch) {
    const batch = documents.slice(at, at + persistenceBatch);
    while (!(await client.arePersisted(batch))) {
      if (realClock.monotonicMs() >= deadlineMs)
        throw new Error(`the documents of bucket "${bucket}" are not on disk after ${kvTimeoutMs / 1000} s`);
      await realClock.sleep(persistencePollEveryMs);
    }
  }
}
