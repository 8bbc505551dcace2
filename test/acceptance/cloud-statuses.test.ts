// Every status that the specification lists for every operation of the cloud: one table of requests, sent with and without
// the required role, to missing resources and with wrong bodies. cloud-postgres tests 500, for a failing database.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { aCluster, hostedCluster, untilGone, untilStatus } from '../support/cloud-cluster.ts';
import { createToken } from '../support/cloud-operator.ts';
import { CloudProcess } from '../support/cloud-process.ts';

/** The statuses of the specification without 500. */
const specified = `
GET /v2/status 200
GET /v2/clouds 200 403 422
GET /v2/clouds/{id} 200 403 404
GET /v2/users 200 403 422
GET /v2/projects 200 403 422
POST /v2/projects 201 403 422
GET /v2/projects/{id} 200 403 404 422
DELETE /v2/projects/{id} 204 403 404 422
GET /v2/clusters 200 403 422
POST /v2/clusters 202 403 422
GET /v2/clusters/{id} 200 403 404
DELETE /v2/clusters/{id} 202 403 404 422
GET /v2/clusters/{id}/status 200 403 404
GET /v2/clusters/{id}/health 200
GET /v2/clusters/{id}/certificate 200 403 404
GET /v2/clusters/{id}/buckets 200 403 404 422
POST /v2/clusters/{id}/buckets 201 403 404 422
PUT /v2/clusters/{id}/buckets 201 403 404 422
DELETE /v2/clusters/{id}/buckets 202 403 404 422
PUT /v2/clusters/{id}/buckets/{bucketId} 202 403 404 422
DELETE /v2/clusters/{id}/buckets/{bucketId} 202 403 404 422
GET /v2/clusters/{id}/allowlist 200 403 404 422
POST /v2/clusters/{id}/allowlist 202 403 404 422
PUT /v2/clusters/{id}/allowlist 202 403 404 422
DELETE /v2/clusters/{id}/allowlist 204 403 404 422
GET /v2/clusters/{id}/users 200 403 404 422
POST /v2/clusters/{id}/users 201 403 404 422
PUT /v2/clusters/{id}/users/{username} 204 403 404 422
DELETE /v2/clusters/{id}/users/{username} 204 403 404
GET /v3/clusters 200 403 422
POST /v3/clusters 202 403 422
GET /v3/clusters/{id} 200 403 404
DELETE /v3/clusters/{id} 202 403 404 422
GET /v3/clusters/{id}/status 200
PUT /v3/clusters/{id}/meta 204 403 404 422
PUT /v3/clusters/{id}/support 204 403 404 422
PUT /v3/clusters/{id}/servers 202 403 404 422
POST /v3/clusters/{id}/users 201 403 404 422
`;

interface Case {
  /** The operation in the notation of the description: `GET /v2/clouds/{id}`. */
  operation: string;
  params?: Record<string, string>;
  body?: unknown;
  status: number;
}

const listOperation = /^GET .*\/(clouds|users|projects|clusters|buckets|allowlist)$/;
/** An id that nothing has. */
const nobody = '00000000-0000-4000-8000-000000000000';
const password = 'correct-Horse-7';
const entry = { cidrBlock: '10.0.0.0/8', ruleType: 'permanent' };

describe('the cloud', () => {
  let cloud: CloudProcess;
  let cloudId: string;
  let projectId: string;
  /** The id of a cluster of v2. */
  let vpc: string;
  /** The id of a cluster of v3. */
  let hosted: string;
  /** The id of the operation that created the cluster of v3. */
  let operationId: string;
  /** `orphan`: the owner of a project that was deleted. */
  let tokens: Record<'projectOwner' | 'projectViewer' | 'reader' | 'otherOwner' | 'orphan', string>;

  const project = async (name: string): Promise<string> =>
    (await cloud.request('POST', '/v2/projects', { name })).body.id;

  before(async () => {
    cloud = await CloudProcess.start();
    cloudId = (await cloud.request('GET', '/v2/clouds')).body.data[0].id;
    ({ id: vpc, projectId } = await aCluster(cloud));
    const created = await cloud.request('POST', '/v3/clusters', hostedCluster(projectId));
    const location = created.headers.get('location') as string;
    operationId = created.headers.get('divan-operation')?.split('/').at(-1) as string;
    hosted = (await untilStatus(cloud, location, 'healthy')).id;
    const [other, gone] = [await project('other'), await project('gone')];
    const token = (role: string, of: string) => createToken(cloud, '--role', role, '--project', of).token;
    tokens = {
      projectOwner: token('projectOwner', projectId),
      projectViewer: token('projectViewer', projectId),
      reader: createToken(cloud, '--role', 'reader').token,
      otherOwner: token('projectOwner', other),
      orphan: token('projectOwner', gone),
    };
    await cloud.request('DELETE', `/v2/projects/${gone}`);
  });
  after(() => cloud[Symbol.asyncDispose]());

  const pathOf = ({ operation, params = {} }: Case): string =>
    (operation.split(' ')[1] as string).replaceAll(
      /\{(\w+)\}/g,
      (_whole, name: string) => params[name] ?? name,
    );

  /** Requests about the contents of a cluster, in an order in which each succeeds. */
  function contents(version: string, id: string): Case[] {
    const at = `/${version}/clusters/{id}`;
    // The id of a bucket is its name in base64: here `b`.
    const bucket = { id, bucketId: 'Yg' };
    const user = { id, username: 'app' };
    return [
      { operation: `POST ${at}/buckets`, params: { id }, body: { name: 'b', memoryQuota: 100 }, status: 201 },
      { operation: `GET ${at}/buckets`, params: { id }, status: 200 },
      { operation: `GET ${at}/buckets/{bucketId}`, params: bucket, status: 200 },
      { operation: `PUT ${at}/buckets/{bucketId}`, params: bucket, body: { memoryQuota: 101 }, status: 202 },
      {
        operation: `PUT ${at}/buckets`,
        params: { id },
        body: [{ name: 'b', memoryQuota: 102 }],
        status: 201,
      },
      { operation: `DELETE ${at}/buckets/{bucketId}`, params: bucket, status: 202 },
      { operation: `POST ${at}/buckets`, params: { id }, body: { name: 'c', memoryQuota: 100 }, status: 201 },
      { operation: `DELETE ${at}/buckets`, params: { id }, body: { name: 'c' }, status: 202 },
      { operation: `POST ${at}/allowlist`, params: { id }, body: entry, status: 202 },
      { operation: `GET ${at}/allowlist`, params: { id }, status: 200 },
      { operation: `PUT ${at}/allowlist`, params: { id }, body: [entry], status: 202 },
      {
        operation: `DELETE ${at}/allowlist`,
        params: { id },
        body: { cidrBlock: entry.cidrBlock },
        status: 204,
      },
      { operation: `POST ${at}/users`, params: { id }, body: { username: 'app', password }, status: 201 },
      { operation: `GET ${at}/users`, params: { id }, status: 200 },
      {
        operation: `PUT ${at}/users/{username}`,
        params: user,
        body: { allBucketsAccess: 'data_reader' },
        status: 204,
      },
      { operation: `DELETE ${at}/users/{username}`, params: user, status: 204 },
      { operation: `GET ${at}/status`, params: { id }, status: 200 },
      { operation: `GET ${at}/health`, params: { id }, status: 200 },
      { operation: `GET ${at}/certificate`, params: { id }, status: 200 },
      { operation: `GET ${at}`, params: { id }, status: 200 },
    ];
  }

  /** All other requests; the last ones delete the clusters. */
  async function otherCases(): Promise<Case[]> {
    const spare = await project('spare');
    const { servers, supportPackage } = hostedCluster(projectId);
    const another = hostedCluster(projectId, { clusterName: 'another' });
    return [
      {
        operation: 'GET /v3/operations/{id}',
        params: { id: operationId },
        status: 200,
      },
      { operation: 'GET /v2/status', status: 200 },
      { operation: 'GET /v2/clouds', status: 200 },
      { operation: 'GET /v2/clouds/{id}', params: { id: cloudId }, status: 200 },
      { operation: 'GET /v2/users', status: 200 },
      { operation: 'GET /v3/caller', status: 200 },
      { operation: 'GET /v2/projects', status: 200 },
      { operation: 'POST /v2/projects', body: { name: 'more' }, status: 201 },
      { operation: 'GET /v2/projects/{id}', params: { id: spare }, status: 200 },
      { operation: 'DELETE /v2/projects/{id}', params: { id: spare }, status: 204 },
      { operation: 'GET /v2/clusters', status: 200 },
      { operation: 'GET /v3/clusters', status: 200 },
      { operation: 'POST /v2/clusters', body: { name: 'orders', cloudId, projectId }, status: 202 },
      { operation: 'POST /v3/clusters', body: another, status: 202 },
      {
        operation: 'PUT /v3/clusters/{id}/meta',
        params: { id: hosted },
        body: { name: 'goods' },
        status: 204,
      },
      {
        operation: 'PUT /v3/clusters/{id}/support',
        params: { id: hosted },
        body: { supportPackage },
        status: 204,
      },
      { operation: 'PUT /v3/clusters/{id}/servers', params: { id: hosted }, body: { servers }, status: 202 },
      { operation: 'DELETE /v2/clusters/{id}', params: { id: vpc }, status: 202 },
      { operation: 'DELETE /v3/clusters/{id}', params: { id: hosted }, status: 202 },
    ];
  }

  const send = async (testCase: Case, change: { token?: string; path?: string; body?: unknown } = {}) => {
    const [method] = testCase.operation.split(' ') as [string];
    const body = 'body' in change ? change.body : testCase.body;
    return cloud.request(method, change.path ?? pathOf(testCase), body, change.token ?? cloud.ready.token);
  };

  /** The statuses of a request after changes that make it fail. */
  async function refusalsOf(testCase: Case): Promise<number[]> {
    const statuses: number[] = [];
    const refused = async (status: number, change: Parameters<typeof send>[1]): Promise<void> => {
      const answer = await send(testCase, change);
      assert.equal(
        answer.status,
        status,
        `${testCase.operation} ${JSON.stringify(change)}: ${JSON.stringify(answer.body)}`,
      );
      assert.notEqual(answer.body.message, '');
      statuses.push(status);
    };
    // Needs no token.
    if (testCase.operation === 'GET /v2/status') return statuses;
    await refused(401, { token: '' });
    await refused(401, { token: 'made-up' });
    await refused(403, { token: tokens.orphan });
    const declared = await declaredOf(testCase.operation);
    if (testCase.params?.['id'] !== undefined) {
      const path = pathOf(testCase).replace(testCase.params['id'], nobody);
      await refused(404, { path });
      const ofOtherOwner = (await send(testCase, { path, token: tokens.otherOwner })).status;
      assert.ok([403, 404].includes(ofOtherOwner), testCase.operation);
      const malformed = pathOf(testCase).replace(testCase.params['id'], 'x');
      // The only change of a cluster without 422 in the specification.
      const hasNo422 = /^DELETE .*\{username\}$/.test(testCase.operation);
      await refused(declared.includes(422) && !hasNo422 ? 422 : 404, { path: malformed });
    }
    if (declared.includes(422) && testCase.body !== undefined) {
      // An empty change of a user is valid.
      const empty = testCase.operation.endsWith('{username}') ? [] : [{}];
      for (const body of [...empty, [], 'x', 1, null, [null], { unheardOf: 1 }]) {
        if (Array.isArray(testCase.body) && Array.isArray(body) && testCase.operation.endsWith('allowlist'))
          continue;
        await refused(422, { body });
      }
    } else if (listOperation.test(testCase.operation)) {
      await refused(422, { path: `${pathOf(testCase)}?unheardOf=1` });
      if (testCase.params === undefined) {
        for (const query of [
          'page=0',
          'perPage=101',
          'page=1.5',
          'page=1&page=2',
          'sortBy=name.up',
          'sortBy=none.asc',
        ])
          await refused(422, { path: `${pathOf(testCase)}?${query}` });
      }
    }
    return statuses;
  }

  const declaredOf = async (operation: string): Promise<number[]> => {
    const [method, path] = operation.split(' ') as [string, string];
    const { document } = await cloud.description();
    return Object.keys(document.paths[path]?.[method.toLowerCase()]?.responses ?? {}).map(Number);
  };

  test('refuses operations beyond a role, and does not reveal to others what exists', async () => {
    const { document } = await cloud.description();
    for (const [path, methods] of Object.entries(document.paths)) {
      const concrete = path
        .replace('/projects/{id}', `/projects/${projectId}`)
        .replace('/clouds/{id}', `/clouds/${cloudId}`)
        .replace('{id}', path.startsWith('/v2') ? vpc : hosted)
        .replace(/\{\w+\}/, 'Yg');
      for (const [method, { description = '' }] of Object.entries(methods)) {
        for (const role of ['projectOwner', 'projectViewer', 'reader'] as const) {
          if (description === '' || path.includes('operations')) continue;
          const may = description.includes(role);
          // The test of all statuses sends the changes that are permitted.
          if (may && method !== 'get') continue;
          const answer = await cloud.request(
            method.toUpperCase(),
            concrete,
            bodyFor(method, path),
            tokens[role],
          );
          const what = `${role} ${method} ${path}: ${JSON.stringify(answer.body)}`;
          assert.equal(answer.status === 403, !may, what);
          if (!may && method !== 'get')
            for (const wrong of [undefined, 1, { unheardOf: 1 }])
              assert.equal(
                (await cloud.request(method.toUpperCase(), concrete, wrong, tokens[role])).status,
                403,
                what,
              );
        }
        const body = bodyFor(method, path);
        if (!path.includes('clusters/{id}') && !JSON.stringify(body ?? '').includes(projectId)) continue;
        for (const given of [body, { unheardOf: 1, projectId }]) {
          const sent = method === 'get' ? undefined : given;
          const { status } = await cloud.request(method.toUpperCase(), concrete, sent, tokens.otherOwner);
          assert.equal(status, 403, `other owner ${method} ${path} ${JSON.stringify(sent)}`);
        }
      }
    }
    for (const list of ['/v2/clusters', '/v3/clusters'])
      assert.equal(
        (await cloud.request('GET', `${list}?projectId=${projectId}`, undefined, tokens.otherOwner)).status,
        403,
      );
  });

  /** A valid body of the operation. */
  function bodyFor(method: string, path: string): unknown {
    if (method === 'get') return undefined;
    const all = [...contents('v2', vpc), ...contents('v3', hosted)];
    const known = all.find(({ operation }) => operation === `${method.toUpperCase()} ${path}`)?.body;
    const { servers, supportPackage } = hostedCluster(projectId);
    const others: Record<string, unknown> = {
      'post /v2/projects': { name: 'x' },
      'post /v2/clusters': { name: 'orders', cloudId, projectId },
      'post /v3/clusters': hostedCluster(projectId),
      'put /v3/clusters/{id}/meta': { name: 'goods' },
      'put /v3/clusters/{id}/support': { supportPackage },
      'put /v3/clusters/{id}/servers': { servers },
    };
    return known ?? others[`${method} ${path}`];
  }

  test('answers every operation with each status that is specified for it', async () => {
    const seen = new Map<string, Set<number>>();
    const table = [...contents('v2', vpc), ...contents('v3', hosted), ...(await otherCases())];
    for (const row of table) {
      const statuses = seen.get(row.operation) ?? new Set<number>();
      if (!seen.has(row.operation)) for (const status of await refusalsOf(row)) statuses.add(status);
      const answer = await send(row);
      assert.equal(answer.status, row.status, `${row.operation}: ${JSON.stringify(answer.body)}`);
      seen.set(row.operation, statuses.add(answer.status));
    }
    for (const line of specified.trim().split('\n')) {
      const [method, path, ...statuses] = line.split(' ') as [string, string, ...string[]];
      const got = seen.get(`${method} ${path}`) ?? new Set();
      assert.deepEqual(
        statuses.filter((status) => !got.has(Number(status))),
        [],
        line,
      );
    }
    const { document } = await cloud.description();
    const served = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    assert.deepEqual(
      served.filter((operation) => !seen.has(operation)),
      [],
      'operations without a test',
    );
    await untilGone(cloud, `/v3/clusters/${hosted}`);
  });

  test('lists the allowed methods in a 405, and names the description in a 404', async () => {
    const { document } = await cloud.description();
    for (const [path, methods] of Object.entries(document.paths)) {
      const concrete = path.replaceAll(/\{\w+\}/g, nobody);
      for (const method of ['PATCH', 'OPTIONS', 'GET', 'POST', 'PUT', 'DELETE']) {
        if (method.toLowerCase() in methods) continue;
        const { status, headers } = await cloud.request(method, concrete);
        assert.equal(status, 405, `${method} ${path}`);
        assert.deepEqual(
          headers.get('allow')?.split(', ').sort(),
          Object.keys(methods)
            .map((m) => m.toUpperCase())
            .sort(),
        );
      }
    }
    for (const path of ['/v2', '/v2/', '/v2/status/', '/v4/clusters', '/v2/clusters/', '/V2/status']) {
      const { status, body } = await cloud.request('GET', path);
      assert.equal(status, 404, path);
      assert.match(body.message, /there is no .*\/docs\/api/, path);
    }
  });
});
