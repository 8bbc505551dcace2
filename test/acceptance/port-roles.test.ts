// Requests every route of the HTTP ports beside that of the REST API as a user of every role, and without credentials: those of views,
// indexes, queries and backups. The node must refuse a user exactly if the user lacks the permission that the route declares, by
// `checkPermissions`, or the roles; src/cluster/role-matrix.test.ts does the same with the REST API.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rolesById } from '../../src/auth/roles/index.ts';
import * as backup from '../../src/backup/service/backup.contract.ts';
import * as capi from '../../src/cluster/capi/capi.contract.ts';
import type { RouteDefinition } from '../../src/contract/route.ts';
import * as index from '../../src/index/rest/index-service.contract.ts';
import { adminRoutes } from '../../src/query/admin/admin.ts';
import { NodeProcess } from '../support/node-process.ts';
import { QueryClient } from '../support/query-client.ts';

const password = 'secret1';
/** What follows the name of a role, by the level to which the role can be limited. */
const roleSuffixes = { cluster: '', bucket: '[b]', scope: '[b:s]', collection: '[b:s:c]' } as const;

/** A request, and who may send it. */
interface Tried {
  readonly method: string;
  readonly url: string;
  readonly body?: string;
  /** The permissions that it needs; null: nobody may send it. */
  readonly permissions: readonly string[] | null;
  /** A permission that suffices in place of those. */
  readonly otherwise?: string;
  /** Only users with one of these roles may send it. */
  readonly roles?: readonly string[];
  /** Whether it needs no credentials. */
  readonly isOpen?: boolean;
}

const isRoute = (value: unknown): value is RouteDefinition =>
  typeof value === 'object' && value !== null && 'access' in value && 'path' in value;
const routesOf = (contract: object): RouteDefinition[] => Object.values(contract).flat().filter(isRoute);

/** Requests for declared routes; every parameter of a path has the value `absent`. */
const declared = (origin: string, contract: object): Tried[] =>
  routesOf(contract).map(({ method, path, access }) => ({
    method,
    url: origin + path.replace(/:\w+\*?/g, 'absent'),
    permissions: access.kind === 'permission' ? [access.permission] : [],
    ...(access.kind === 'roles' && { roles: access.roles }),
    isOpen: access.kind === 'anyone',
  }));

const catalog = 'cluster.n1ql.meta!read';
const settings = 'cluster.settings!write';
const globalFunctions = 'cluster.n1ql.udf!manage';
const scopeFunctions = 'cluster.scope[b:s].n1ql.udf!manage';
const globalLibraries = 'cluster.n1ql.udf_external!manage';
const scopeLibraries = 'cluster.scope[b:s].n1ql.udf_external!manage';

/** What a route needs beside the right to read the catalog; null: nobody may use it. */
const adminRights: Readonly<Record<string, readonly string[] | null>> = {
  'POST /admin/settings': [settings],
  'POST /admin/ssl_cert': [settings],
  'GET /admin/shutdown': null,
  'POST /admin/shutdown': null,
  'GET /api/v1/backup': [globalFunctions],
  'POST /api/v1/backup': [globalFunctions],
  'GET /api/v1/bucket/*/backup': [scopeFunctions],
  'POST /api/v1/bucket/*/backup': [scopeFunctions],
};

const udf = (identity: object) => ({
  identity: { name: 'f', ...identity },
  definition: { '#language': 'inline', parameters: [], text: '1' },
});
const functionsBackup = JSON.stringify({
  udfMagic: '4D6172636F2072756C6573',
  version: '0x01',
  udfs: [udf({ type: 'global' }), udf({ type: 'scope', bucket: 'b', scope: 's' })],
});

function administration(origin: string): Tried[] {
  return adminRoutes.map((key) => {
    const [method = '', path = ''] = key.split(' ');
    const rights = adminRights[key];
    const isRestore = method === 'POST' && path.endsWith('backup');
    return {
      method,
      url: origin + path.replace('bucket/*', 'bucket/b').replaceAll('*', 'absent'),
      ...(method === 'POST' && { body: isRestore ? functionsBackup : '{}' }),
      permissions: rights === null ? null : [catalog, ...(rights ?? [])],
    };
  });
}

function libraries(origin: string): Tried[] {
  const path = `${origin}/evaluator/v1/libraries`;
  const inScope = '?bucket=b&scope=s';
  const changes = ['POST', 'DELETE'].flatMap((method) => [
    { method, url: `${path}/l`, permissions: [globalLibraries] },
    { method, url: `${path}/l${inScope}`, permissions: [scopeLibraries] },
  ]);
  return [
    ...changes.map((change) => ({ ...change, ...(change.method === 'POST' && { body: 'function f() {}' }) })),
    { method: 'GET', url: path, permissions: [] },
    { method: 'GET', url: `${path}${inScope}`, permissions: [scopeLibraries] },
    // Who manages the libraries of a scope may read the global ones, too.
    { method: 'GET', url: `${path}/l`, permissions: [globalLibraries], otherwise: scopeLibraries },
    { method: 'GET', url: `${path}/l${inScope}`, permissions: [scopeLibraries] },
  ];
}

/** Statements that need one privilege each, and change nothing that a later one needs. */
const statements: Readonly<Record<string, string>> = {
  'SELECT * FROM b.s.c USE KEYS "absent"': 'cluster.collection[b:s:c].n1ql.select!execute',
  'INSERT INTO b.s.c VALUES (UUID(), 1)': 'cluster.collection[b:s:c].n1ql.insert!execute',
  'UPDATE b.s.c USE KEYS "absent" SET x = 1': 'cluster.collection[b:s:c].n1ql.update!execute',
  'DELETE FROM b.s.c USE KEYS "absent"': 'cluster.collection[b:s:c].n1ql.delete!execute',
  'DROP INDEX nothing IF EXISTS ON b.s.c': 'cluster.collection[b:s:c].n1ql.index!create',
  // To create a scope that does not exist needs the right to the bucket, which the REST API checks.
  'CREATE SCOPE b.s IF NOT EXISTS': 'cluster.scope[b:s].collections!write',
  'CREATE COLLECTION b.s.c IF NOT EXISTS': 'cluster.scope[b:s].collections!write',
  'CREATE OR REPLACE FUNCTION f() { 1 }': globalFunctions,
  'CREATE OR REPLACE FUNCTION default:b.s.f() { 1 }': scopeFunctions,
  'EXECUTE FUNCTION f()': 'cluster.n1ql.udf!execute',
  'EXECUTE FUNCTION default:b.s.f()': 'cluster.scope[b:s].n1ql.udf!execute',
  'SELECT * FROM system:active_requests': catalog,
  'DELETE FROM system:prepareds WHERE name = "absent"': catalog,
  'SELECT * FROM system:user_info': 'cluster.admin.security!read',
  'GRANT query_select ON b TO nobody_at_all': 'cluster.admin.security!write',
};

const statementsOf = (origin: string): Tried[] =>
  Object.entries(statements).map(([statement, permission]) => ({
    method: 'POST',
    url: `${origin}/query/service`,
    body: JSON.stringify({ statement }),
    permissions: [permission],
  }));

const basic = (name: string) => `Basic ${btoa(`${name}:${password}`)}`;

/** Whether the node answers this request of this user, or of nobody. */
async function isAnswered({ method, url, body }: Tried, user: string | null): Promise<boolean> {
  const response = await fetch(url, {
    method,
    ...(body !== undefined && { body }),
    headers: {
      ...(user !== null && { authorization: basic(user) }),
      ...(body?.startsWith('{') && { 'content-type': 'application/json' }),
    },
  });
  const text = await response.text();
  return response.status !== 401 && response.status !== 403 && !/"code":(13014|10000)\b/.test(text);
}

async function prepared(node: NodeProcess): Promise<void> {
  const created = async (path: string, method: string, form: Record<string, string>) => {
    const response = await node.request(path, method, form);
    assert.ok(response.ok, `${path}: ${await response.text()}`);
  };
  await created('/pools/default/buckets/b/scopes', 'POST', { name: 's' });
  await created('/pools/default/buckets/b/scopes/s/collections', 'POST', { name: 'c' });
  for (const [role, { level }] of rolesById)
    await created(`/settings/rbac/users/local/${role}`, 'PUT', {
      password,
      roles: `${role}${roleSuffixes[level]}`,
    });
  const queries = new QueryClient(node.ready.node.query ?? '');
  await queries.rows('CREATE INDEX i ON b.s.c(x)');
  await queries.rows('CREATE FUNCTION f() { 1 }');
  await queries.rows('CREATE FUNCTION default:b.s.f() { 1 }');
}

/** The permissions that the node says the user has. */
async function granted(node: NodeProcess, user: string, wanted: readonly string[]): Promise<Set<string>> {
  const response = await fetch(`${node.ready.node.rest}/pools/default/checkPermissions`, {
    method: 'POST',
    headers: { authorization: basic(user) },
    body: wanted.join(','),
  });
  assert.equal(response.status, 200);
  const checked = (await response.json()) as Record<string, boolean>;
  return new Set(Object.entries(checked).flatMap(([text, has]) => (has ? [text] : [])));
}

const views = 'cluster.bucket[b].views!read';
const listsIndex = 'cluster.collection[b:s:c].n1ql.index!list';

describe('the HTTP ports beside that of the REST API', () => {
  it('answer every route to every role as its declaration says, and show only what the role may see', async (t) => {
    await using node = await NodeProcess.start({
      args: ['--services', 'kv,index,n1ql,backup', '--bucket', 'b'],
    });
    await prepared(node);
    const ports = node.ready.node;
    const tested = { capi, index, backup, query: 'statements and administration' } as const;
    const http = Object.entries(ports).filter(([, url]) => /^https?:/.test(url));
    const others = http.map(([name]) => name.replace(/Tls$/, '')).filter((name) => name !== 'rest');
    assert.deepEqual([...new Set(others)].sort(), Object.keys(tested).sort(), 'the ports that are tested');
    const { query = '', index: indexPort = '' } = ports;
    const all: Tried[] = [
      ...declared(ports.capi, capi),
      ...declared(indexPort, index),
      ...declared(ports.backup ?? '', backup),
      ...administration(query),
      ...libraries(query),
      ...statementsOf(query),
      { method: 'GET', url: `${query}/admin/ping`, permissions: [], isOpen: true },
    ];
    const permissions = [...new Set([...all.flatMap((each) => each.permissions ?? []), views, listsIndex])];
    const wrong: string[] = [];
    let tried = 0;
    for (const role of rolesById.keys()) {
      const has = await granted(node, role, permissions);
      for (const each of all) {
        const { roles, permissions: needed, otherwise = '' } = each;
        const isPermitted = needed?.every((permission) => has.has(permission)) ?? false;
        const isExpected = (isPermitted || has.has(otherwise)) && (roles?.includes(role) ?? true);
        tried++;
        if ((await isAnswered(each, role)) !== isExpected)
          wrong.push(`${role}: ${each.method} ${each.url} ${each.body ?? ''}: expected ${isExpected}`);
      }
      const read = (url: string) => fetch(url, { headers: { authorization: basic(role) } });
      assert.equal((await read(`${ports.capi}/b`)).status, has.has(views) ? 200 : 404, `${role}: views`);
      for (const path of [
        '/getIndexStatus',
        '/getIndexStatement',
        '/getIndexMetadata',
        '/getLocalIndexMetadata',
      ])
        assert.equal(
          /\bCREATE INDEX\b|"name":"i"/.test(await (await read(indexPort + path)).text()),
          has.has(listsIndex),
          `${role}: ${path}`,
        );
    }
    for (const each of all)
      if ((await isAnswered(each, null)) !== (each.isOpen === true))
        wrong.push(`nobody: ${each.method} ${each.url}`);
    t.diagnostic(`${rolesById.size} roles, ${all.length} requests, ${tried} tried`);
    assert.ok(tried > 3_000);
    assert.deepEqual(wrong, []);
  });
});
