import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeCertificate } from '../../../test/support/certificate.ts';
import { aManager } from '../../../test/support/manager.ts';

describe('cluster reads', () => {
  it('list the one pool once provisioned, with paths that answer', async () => {
    const authority = await makeCertificate();
    const { request } = await aManager({ issue: async () => ({ authority, node: authority, rsa: null }) });
    const { body } = await request('/pools');
    assert.equal(body.pools[0].uri, `/pools/default?uuid=${body.uuid}`);
    assert.equal((await request(body.pools[0].uri)).status, 200);
    const other = await request('/pools/default?uuid=0');
    assert.deepEqual([other.status, other.text], [404, 'Cluster uuid does not match the requested.\r\n']);
    const pool = (await request('/pools/default')).body;
    const paths = [pool.buckets.uri, pool.nodeStatusesUri, pool.nodeServicesUri, pool.tasks.uri];
    for (const path of [...paths, pool.trustedCAsURI, pool.rebalanceProgressUri]) {
      assert.equal((await request(path)).status, 200, path);
    }
    assert.deepEqual([pool.balanced, pool.rebalanceStatus, pool.maxBucketCount], [true, 'none', 30]);
  });

  it('show this node with its storage', async () => {
    const { request } = await aManager();
    const { body } = await request('/nodes/self');
    assert.equal(body.otpNode, 'ns_1@cb.local');
    assert.deepEqual(body.services, ['kv']);
    assert.deepEqual(body.ports, {
      direct: 11210,
      httpsCAPI: 18092,
      httpsMgmt: 18091,
      distTCP: 21100,
      distTLS: 21150,
    });
    assert.equal(body.clusterCompatibility, 458753);
    assert.equal(body.storageTotals.ram.quotaTotal, 1024 * 1024 * 1024);
    assert.deepEqual(body.availableStorage.hdd, [{ path: '/', sizeKBytes: 104857600, usagePercent: 45 }]);
    assert.equal(body.storage.hdd[0].state, 'ok');
    assert.deepEqual(
      ['memoryQuota', 'indexMemoryQuota', 'ftsMemoryQuota', 'cbasMemoryQuota', 'eventingMemoryQuota'].filter(
        (name) => typeof body[name] !== 'number',
      ),
      [],
    );
    assert.equal((await request('/nodes/ns_1@cb.local')).status, 200);
    const unknown = await request('/nodes/ns_1@other');
    assert.deepEqual([unknown.status, unknown.body], [404, 'Node is unknown to this cluster.']);
  });

  it('show the terse cluster description to administrators', async () => {
    const { request } = await aManager();
    const { uuid } = (await request('/pools')).body;
    const url = '/pools/default/terseClusterInfo';
    assert.deepEqual((await request(url)).body, {
      clusterUUID: uuid,
      orchestrator: 'ns_1@cb.local',
      isBalanced: true,
      clusterCompatVersion: '7.1',
    });
    assert.deepEqual((await request(`${url}?isBalanced=true`)).body, { isBalanced: true });
    assert.equal((await request(`${url}?all=perhaps`)).status, 400);
    const stateUrl = `${url}?clientCertAuthState=true`;
    assert.deepEqual((await request(stateUrl)).body, { clientCertAuthState: 'disable' });
    const prefixes = [{ path: 'subject.cn', prefix: '', delimiter: '' }];
    const wanted = JSON.stringify({ state: 'enable', prefixes });
    await request('/settings/clientCertAuth', { raw: wanted });
    assert.deepEqual((await request(stateUrl)).body, { clientCertAuthState: 'enable' });
    const form = { password: 'password', roles: 'bucket_admin[*]' };
    await request('/settings/rbac/users/local/ba', { method: 'PUT', form });
    assert.equal((await request(url, { as: 'ba:password' })).status, 403);
  });

  it('show a bucket that warms up in nodes and tasks', async () => {
    const { request, kv } = await aManager();
    kv.figures['b'] = { state: 'warmup' };
    await request('/pools/default/buckets', { form: { name: 'b', ramQuotaMB: 100 } });
    assert.equal((await request('/pools/default')).body.nodes[0].status, 'warmup');
    const tasks = (await request('/pools/default/tasks')).body;
    assert.deepEqual(
      tasks.map((task: { type: string }) => task.type),
      ['rebalance', 'warming_up'],
    );
    assert.equal((await request('/nodeStatuses')).body['127.0.0.1:8091'].status, 'healthy');
    kv.figures['b'] = { state: 'ready' };
    assert.equal((await request('/pools/default')).body.nodes[0].status, 'healthy');
    const wrong = await request('/pools/default/tasks?rebalanceStatusTimeout=1');
    assert.deepEqual([wrong.status, wrong.body], [400, { rebalanceStatusTimeout: 'invalid' }]);
  });

  it('raise alerts about damaged files and buckets that refuse writes', async () => {
    const { request, kv } = await aManager();
    await request('/pools/default/buckets', { form: { name: 'b', ramQuotaMB: 100 } });
    assert.deepEqual((await request('/pools/default')).body.alerts, []);
    kv.figures['b'] = {
      damaged: [{ file: 2, path: '/data/b/2.db', reason: 'not a database' }],
      writeFailure: 'disk full',
    };
    const { alerts } = (await request('/pools/default')).body;
    assert.deepEqual(
      alerts.map((alert: { msg: string }) => alert.msg),
      [
        'Bucket "b" has a file that cannot be read: /data/b/2.db: not a database',
        'Bucket "b" takes no writes: disk full',
      ],
    );
  });

  it('call a node unhealthy whose bucket waits for disk space, and say what it waits for', async () => {
    const { request, kv } = await aManager();
    await request('/pools/default/buckets', { form: { name: 'b', ramQuotaMB: 100 } });
    const waiting = { state: 'opening', keys: 0, values: 0, expected: 0, keysMs: 1, ms: 1 } as const;
    kv.figures['b'] = { state: 'warmup', warmUp: { ...waiting, noSpace: '/data/b/2.db: disk full' } };
    const { alerts, nodes } = (await request('/pools/default')).body;
    assert.equal(alerts[0].msg, 'Bucket "b" waits for disk space to open /data/b/2.db: disk full');
    assert.equal(nodes[0].status, 'unhealthy');
  });

  it('wait for a change on request', async () => {
    const { request } = await aManager();
    const { etag } = (await request('/pools/default')).body;
    const waiting = request(`/pools/default?waitChange=10000&etag=${etag}`);
    await request('/pools/default', { form: { clusterName: 'changed' } });
    const { body } = await waiting;
    assert.equal(body.clusterName, 'changed');
    assert.notEqual(body.etag, etag);
    assert.equal(Object.keys(body)[0], 'etag');
  });

  it('push every change of a bucket until it is deleted', async () => {
    const { server, manager, request } = await aManager();
    await request('/pools/default/buckets', { form: { name: 'b', ramQuotaMB: 100 } });
    const listener = await server.listen({ host: '127.0.0.1', port: 0 });
    const authorization = `Basic ${Buffer.from('Administrator:password').toString('base64')}`;
    const response = await fetch(`http://127.0.0.1:${listener.port}/pools/default/bs/b`, {
      headers: { authorization },
    });
    const seen: { rev: number; collectionsManifestUid: string }[] = [];
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const next = async () => {
      while (!text.includes('\n\n\n\n')) {
        const chunk = await reader?.read();
        if (chunk?.done !== false) return null;
        text += chunk.value;
      }
      const [first, ...rest] = text.split('\n\n\n\n');
      text = rest.join('\n\n\n\n');
      return JSON.parse(first as string);
    };
    seen.push(await next());
    await request('/pools/default/buckets/b/scopes', { form: { name: 's' } });
    seen.push(await next());
    assert.deepEqual(
      seen.map((config) => config.collectionsManifestUid),
      ['0', '1'],
    );
    assert((seen[1]?.rev ?? 0) > (seen[0]?.rev ?? 0));
    await request('/pools/default/buckets/b', { method: 'DELETE' });
    while ((await next()) !== null);
    await manager.stop();
    await server.stop(0);
  });

  it('return the root certificate without credentials', async () => {
    const authority = await makeCertificate();
    const { request } = await aManager({ issue: async () => ({ authority, node: authority, rsa: null }) });
    assert.equal((await request('/pools/default/certificate', { as: null })).text, authority.certificate);
    const { body } = await request('/pools/default/certificate?extended=true', { as: null });
    assert.deepEqual(
      [body.type, body.pem, body.subject, body.warnings.map(({ name }: { name: string }) => name)],
      ['generated', authority.certificate, 'CN=localhost', ['self_signed']],
    );
    assert.deepEqual(Object.keys((await request('/pools/default/trustedCAs', { as: null })).body[0]), [
      'id',
      'subject',
      'notBefore',
      'notAfter',
      'pem',
    ]);
    assert.deepEqual((await request('/pools/default/trustedCAs')).body[0].nodes, ['127.0.0.1:8091']);
    const ports = await request('/nodes/self/xdcrSSLPorts', { as: null });
    assert.deepEqual(ports.body, { httpsMgmt: 18091, httpsCAPI: 18092 });
  });
});

describe('view ports (CAPI)', () => {
  it('report that views are not available', async () => {
    const { request, requestCapi } = await aManager();
    await request('/pools/default/buckets', { form: { name: 'b', ramQuotaMB: 100 } });
    const { uuid } = (await request('/pools/default/buckets/b')).body;
    assert.match((await requestCapi('/', { as: null })).text, /not served/);
    assert.deepEqual((await requestCapi(`/b%2B${uuid}`)).body, { db_name: 'b' });
    assert.equal((await requestCapi('/b', { as: null })).status, 401);
    assert.equal((await requestCapi('/none')).status, 404);
    const requests = [
      ['GET', '/b/_design/d'],
      ['PUT', '/b/_design/d'],
      ['DELETE', '/b/_design/d'],
      ['GET', '/b/_design/d/_view/v'],
      ['POST', '/b/_design/d/_view/v'],
    ];
    for (const [method, path = ''] of requests) {
      const { status, body } = await requestCapi(path, { method });
      assert.deepEqual([method, status, body?.error], [method, 404, 'not_found']);
      assert.match(body.reason, /^views are not served/);
    }
  });
});
