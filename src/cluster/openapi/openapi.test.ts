// The API document is valid and complete, and answers of a node match it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { JsonSchema } from '#contract/json-schema.ts';
import type { RouteDefinition } from '#contract/route.ts';
import { schemaMismatches } from '../../../test/support/json-schema.ts';
import { aManager, type ManagerOptions } from '../../../test/support/manager.ts';
import { aTarget, targetUuid } from '../../../test/support/xdcr-target.ts';
import type { OpenApiDocument } from './openapi.ts';

type Node = Awaited<ReturnType<typeof aManager>>;

const lastWriteWins = { conflictResolutionType: 'lww' };

/** A node with one object of each kind whose answers differ. */
async function aFullNode(options: ManagerOptions = {}): Promise<Node> {
  const node = await aManager({ callTarget: aTarget({}), ...options });
  const created = [
    { name: 'b', ramQuotaMB: 100, flushEnabled: 1, ...(options.edition !== 'community' && lastWriteWins) },
    { name: 'e', ramQuotaMB: 100, bucketType: 'ephemeral' },
    { name: 'c', ramQuotaMB: 100, bucketType: 'cache' },
    {
      name: 'o',
      ramQuotaMB: 100,
      autoCompactionDefined: 'true',
      parallelDBAndViewCompaction: 'false',
      'databaseFragmentationThreshold[percentage]': 40,
      purgeInterval: 2,
    },
  ];
  for (const form of created) {
    assert.equal((await node.request('/pools/default/buckets', { form })).status, 202);
  }
  const put = (url: string, form: Record<string, string | number>) =>
    node.request(url, { method: 'PUT', form });
  await put('/settings/rbac/groups/g', { roles: 'ro_admin', description: 'readers' });
  const granted =
    options.edition === 'community' ? { roles: 'ro_admin' } : { roles: 'bucket_admin[b]', groups: 'g' };
  await put('/settings/rbac/users/local/u', { password: 'secret1', ...granted });
  await put('/node/controller/setupAlternateAddresses/external', { hostname: 'db.example.com', mgmt: 9999 });
  await node.request('/pools/default/settings/memcached/node/self', { form: { verbosity: 1 } });
  await node.request('/pools/default/buckets/b/scopes', { form: { name: 's' } });
  await node.request('/pools/default/buckets/b/scopes/s/collections', { form: { name: 'c', maxTTL: 5 } });
  const reference = { name: 'there', hostname: 'far', username: 'u', password: 'pw' };
  await node.request('/pools/default/remoteClusters', { form: reference });
  const replication = {
    fromBucket: 'o',
    toCluster: 'there',
    toBucket: 'taken',
    replicationType: 'continuous',
  };
  const reply = await node.request('/controller/createReplication', { form: replication });
  assert.equal(reply.status, 200, reply.text);
  return node;
}

/** Values of path parameters, one request for each. */
const parameterValues: Record<string, string[]> = {
  bucket: ['b', 'e', 'c', 'o'],
  node: ['127.0.0.1%3A8091'],
  user: ['u'],
  domain: ['local'],
  group: ['g'],
  stat: ['ops'],
  part: ['data', 'tlsMinVersion'],
  key: ['supportedCipherSuites'],
  replication: [encodeURIComponent(`${targetUuid}/o/taken`)],
};

/** The address of the console's script, whose name contains a digest. */
function consoleScript(): string {
  const page = readFileSync(new URL('../../../built/console/index.html', import.meta.url), 'utf8');
  return /\/ui\/assets\/[\w-]+\.js/.exec(page)?.[0] ?? '';
}

function urlsOf({ id, path }: RouteDefinition): string[] {
  // Some reads know nodes by name, some by address.
  if (id === 'nodes.get') return ['/nodes/ns_1%40cb.local'];
  if (id === 'ui.asset') return [consoleScript()];
  if (id === 'manual.image') return ['/docs/images/console-query.webp'];
  if (id === 'manual.page') return ['/docs/glossary', '/docs/guides/query'];
  if (id.startsWith('data_settings.'))
    return [path.replace(':node', 'self').replace(':setting', 'verbosity')];
  return path
    .split('/')
    .reduce<string[]>(
      (urls, token) => {
        const values = token.startsWith(':') ? (parameterValues[token.slice(1)] ?? [token]) : [token];
        return urls.flatMap((url) => values.map((value) => (url === '' ? value : `${url}/${value}`)));
      },
      [''],
    )
    .map((url) => `/${url.replace(/^\//, '')}`);
}

/** Further queries of some reads. */
const variants: Record<string, string[]> = {
  'certificates.authority': ['?extended=true'],
  'pools.terse': ['?all=true'],
  'users.list': ['?pageSize=4'],
  'groups.list': ['?pageSize=4'],
};

test('the description of the REST API is valid OpenAPI 3.1', async () => {
  const { request, manager } = await aManager();
  const { status, body } = await request('/openapi.json', { as: null });
  await manager.stop();
  assert.equal(status, 200);
  const validator = new Validator();
  const result = await validator.validate(body);
  assert.deepEqual(result.errors ?? [], []);
  assert.equal(result.valid, true);
  assert.equal(validator.version, '3.1');
});

test('the description of the REST API contains every route that is served, and no other', async () => {
  const { request, manager } = await aManager();
  const document = (await request('/openapi.json')).body as OpenApiDocument;
  await manager.stop();
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const served = manager.routes.map(
    ({ route }) => `${route.method} ${route.path.replace(/:(\w+)\*?/g, '{$1}')}`,
  );
  assert.deepEqual(described.sort(), served.sort());
});

test('the node answers every read as the API description says', async (t) => {
  const node = await aFullNode();
  const reads = node.manager.routes.map(({ route }) => route).filter(({ method }) => method === 'GET');
  const wrong: string[] = [];
  for (const route of reads) wrong.push(...(await wrongAnswers(node, route)));
  await node.manager.stop();
  t.diagnostic(`${reads.length} reads`);
  assert.deepEqual(wrong, []);
});

test('a community node answers every read as the API description says, or refuses it', async () => {
  const node = await aFullNode({ edition: 'community' });
  const reads = node.manager.routes.map(({ route }) => route).filter(({ method }) => method === 'GET');
  const wrong: string[] = [];
  for (const route of reads) wrong.push(...(await wrongAnswers(node, route, [400])));
  await node.manager.stop();
  assert.deepEqual(wrong, []);
});

async function wrongAnswers(node: Node, route: RouteDefinition, refusals: number[] = []): Promise<string[]> {
  const { id, answer } = route;
  if (!answer) return [`${id}: GET ${route.path} declares no answer`];
  const urls = urlsOf(route);
  const all = [...urls, ...(variants[id] ?? []).map((query) => `${urls[0]}${query}`)];
  const found = all.map(async (url) => {
    const sent = answer.stream ? await firstOf(node, route) : await node.request(url);
    if (refusals.includes(sent.status)) return [];
    // A bucket without documents has no key, a cache has no manifest, and a setting for all has no parts.
    if (sent.status === 404 && /random_key|manifest|security.read_key|rebalance.report/.test(id)) return [];
    // Without a data port there are no documents: documents.test.ts reads some.
    if ([404, 503].includes(sent.status) && /documents\.(list|read)$/.test(id)) return [];
    // Without the backup service there is nothing to forward: backup-proxy.test.ts and backup-cli-requests.test.ts read from one.
    if (sent.status === 404 && id === 'backup_proxy.get') return [];
    if (sent.status !== (answer.status ?? 200)) return [`${id}: ${url}: ${sent.status} ${sent.text}`];
    if (sent.body === undefined) return answer.json ? [`${id}: ${url}: no JSON`] : [];
    return answer.json
      ? schemaMismatches(sent.body, answer.json).map((mismatch) => `${id}: ${url}: ${mismatch}`)
      : [];
  });
  return (await Promise.all(found)).flat();
}

/** The first value of a stream. */
async function firstOf({ manager }: Node, { id, path }: RouteDefinition) {
  const bound = manager.routes.find(({ route }) => route.id === id);
  const params = path.includes(':bucket') ? { bucket: 'b' } : {};
  const local = { address: '127.0.0.1', port: 0 };
  const context = { local, may: () => true } as never;
  const reply = await bound?.handler(
    { params, query: { limit: 1 }, body: undefined, justValidate: false } as never,
    context,
  );
  assert(reply?.kind === 'stream');
  const ended = new AbortController();
  const isEncoded = 'texts' in reply;
  for await (const value of isEncoded ? reply.texts(ended.signal) : reply.source(ended.signal)) {
    ended.abort();
    const text = isEncoded ? (value as string) : JSON.stringify(value);
    return { status: 200, text: '', body: JSON.parse(text) as unknown };
  }
  throw new Error(`${id}: the stream ended before its first value`);
}

test('detects answers that are not as described', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: { a: { type: 'integer' }, b: { enum: ['x'] } },
    required: ['a'],
    additionalProperties: false,
  };
  assert.deepEqual(schemaMismatches({ b: 'y', c: 1 }, schema), [
    '$.a: missing',
    '$.b: "y" is none of ["x"]',
    '$.c: not described',
  ]);
  assert.deepEqual(schemaMismatches({ a: 1.5 }, schema), ['$.a: 1.5 is no integer']);
  assert.deepEqual(schemaMismatches([1], { type: 'array', items: { type: 'string' } }), [
    '$[0]: 1 is no string',
  ]);
});

test('the node serves a page of the API without scripts and external files to clients without credentials', async () => {
  const { request, manager } = await aManager({ provisioned: false });
  const { status, text, headers } = await request('/docs/api', { as: null });
  await manager.stop();
  assert.equal(status, 200);
  assert.equal(headers['content-type'], 'text/html; charset=utf-8');
  assert.match(String(headers['content-security-policy']), /^default-src 'none'; style-src 'sha256-/);
  assert.doesNotMatch(text, /<script|https?:\/\//);
  for (const { route } of manager.routes) assert.ok(text.includes(`id="${route.id}"`), route.id);
});
