import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessCases, type Call, checkAccess, unprovisionedCases } from '../../test/support/access-suite.ts';
import { aManager } from '../../test/support/manager.ts';

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;
const admin = basic('Administrator:password');
const weak = basic('weak:secret1');

const callOf =
  (server: Awaited<ReturnType<typeof aManager>>['server']): Call =>
  async ({ method, url, authorization }) => {
    const headers = authorization === undefined ? {} : { authorization };
    const answer = await server.inject({ method: method as 'GET', url, headers });
    const challenge = answer.headers['www-authenticate'] as string | undefined;
    return { status: answer.statusCode, body: answer.payload, challenge };
  };

test("refuses the callers and inputs that each route's declaration excludes", async (t) => {
  const { request, server, manager } = await aManager();
  t.after(() => manager.stop());
  const form = { password: 'secret1', roles: 'sync_gateway_replicator[*]' };
  const put = await request('/settings/rbac/users/local/weak', { method: 'PUT', form });
  assert.equal(put.status, 200);
  const cases = accessCases(server.routes, { admin, weak });
  t.diagnostic(`${server.routes.length} routes, ${cases.length} requests`);
  await checkAccess(t, cases, callOf(server));
});

test('before provisioning the node refuses calls of routes that are not declared open', async (t) => {
  const { server, manager } = await aManager({ provisioned: false });
  t.after(() => manager.stop());
  await checkAccess(t, unprovisionedCases(server.routes, admin), callOf(server));
});

test('before provisioning only the routes of provisioning and bootstrap are open', async () => {
  const { server, manager } = await aManager({ provisioned: false });
  const open = server.routes
    .filter((route) => route.openBeforeProvisioning)
    .map((route) => `${route.method} ${route.path}`)
    .sort();
  await manager.stop();
  assert.deepEqual(open, [
    'DELETE /node/controller/setupAlternateAddresses/external',
    'GET /',
    'GET /docs',
    'GET /docs/:page*',
    'GET /docs/api',
    'GET /docs/images/:image',
    'GET /docs/search',
    'GET /nodes/self',
    'GET /openapi.json',
    'GET /pools',
    'GET /pools/default',
    'GET /pools/default/nodeServices',
    'GET /ui/',
    'GET /ui/assets/:file',
    'GET /ui/index.html',
    'GET /versions',
    'GET /whoami',
    'POST /clusterInit',
    'POST /completeJoin',
    'POST /controller/addNode',
    'POST /controller/addNodeV2',
    'POST /engageCluster2',
    'POST /node/controller/doJoinCluster',
    'POST /node/controller/rename',
    'POST /node/controller/setupNetConfig',
    'POST /node/controller/setupServices',
    'POST /nodeInit',
    'POST /nodes/self/controller/settings',
    'POST /pools/default',
    'POST /pools/default/settings/memcached/global',
    'POST /settings/indexes',
    'POST /settings/stats',
    'POST /settings/web',
    'PUT /node/controller/setupAlternateAddresses/external',
  ]);
});
