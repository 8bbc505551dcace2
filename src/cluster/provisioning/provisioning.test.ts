import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { administrator, aManager, type Sent } from '../../../test/support/manager.ts';
import { defaultQuotasMb, nodeQuotaMaxMb } from './quotas.ts';

const unprovisioned = () => aManager({ provisioned: false });
const post = (form: Sent['form'] = {}): Sent => ({ form: form as Record<string, string>, as: null });

describe('a new node', () => {
  it('answers open routes without credentials, and 401 to all other routes', async () => {
    const { request } = await unprovisioned();
    for (const url of ['/pools', '/versions', '/nodes/self', '/pools/default/nodeServices', '/ui/']) {
      assert.equal((await request(url, { as: null })).status, 200, url);
    }
    const pool = await request('/pools/default', { as: 'any:thing' });
    assert.deepEqual([pool.status, pool.body], [404, 'unknown pool']);
    for (const url of ['/pools/default/buckets', '/settings/web', '/nodes/ns_1@cb.local', '/pools/nodes']) {
      assert.equal((await request(url, { as: null })).status, 401, url);
    }
  });

  it('shows empty lists in place of pools and uuid', async () => {
    const { request } = await unprovisioned();
    const { body } = await request('/pools', { as: null });
    assert.deepEqual([body.pools, body.uuid, body.settings], [[], [], []]);
    assert.equal(body.implementationVersion, '7.1.0-0.1.0-enterprise');
    assert.deepEqual(body.allowedServices, ['kv', 'index', 'n1ql', 'backup']);
  });

  it('is set up by the sequence of calls that test containers make', async () => {
    const { request, kv } = await unprovisioned();
    const as = 'Administrator:password';
    const steps: [string, Sent][] = [
      ['/node/controller/rename', post({ hostname: '172.17.0.2' })],
      ['/node/controller/setupServices', post({ services: 'kv' })],
      ['/pools/default', post({ memoryQuota: '256' })],
      ['/settings/web', post({ ...administrator, port: '8091' })],
      [
        '/node/controller/setupAlternateAddresses/external',
        {
          method: 'PUT',
          as,
          form: {
            hostname: 'localhost',
            mgmt: 32768,
            mgmtSSL: 32769,
            kv: 32770,
            kvSSL: 32771,
            capi: 32772,
            capiSSL: 32773,
          },
        },
      ],
      ['/settings/indexes', { form: { storageMode: 'memory_optimized' }, as }],
    ];
    for (const [url, sent] of steps) {
      const answer = await request(url, sent);
      assert.equal(answer.status, 200, `${url}: ${answer.text}`);
    }
    const bucket = { name: 'b', ramQuotaMB: 100, bucketType: 'couchbase', flushEnabled: 0, replicaNumber: 0 };
    const created = await request('/pools/default/buckets', { form: bucket });
    assert.deepEqual([created.status, created.text], [202, '']);
    const pool = await request('/pools/default');
    assert.equal(pool.body.nodes[0].status, 'healthy');
    assert.equal(pool.body.nodes[0].hostname, '172.17.0.2:8091');
    const terse = await request('/pools/default/b/b');
    const [node] = terse.body.nodesExt;
    assert.equal(node.hostname, '172.17.0.2');
    assert.deepEqual(node.alternateAddresses.external, {
      hostname: 'localhost',
      ports: { mgmt: 32768, mgmtSSL: 32769, kv: 32770, kvSSL: 32771, capi: 32772, capiSSL: 32773 },
    });
    assert.deepEqual(terse.body.vBucketServerMap.serverList, ['172.17.0.2:11210']);
    assert.equal(kv.desired?.buckets.length, 1);
    assert.equal(kv.desired?.users[0]?.name, 'Administrator');
  });

  it('keeps its configuration over a restart, with a revision that does not go back', async () => {
    const store = new MemoryConfigStore();
    const first = await aManager({ store });
    await first.request('/pools/default', { form: { clusterName: 'home' } });
    await first.request('/pools/default/buckets', { form: { name: 'b', ramQuotaMB: 100 } });
    const before = (await first.request('/pools/default/b/b')).body;
    await first.manager.stop();
    const second = await aManager({ store, provisioned: false });
    const after = (await second.request('/pools/default/b/b')).body;
    assert.equal(after.uuid, before.uuid);
    assert(after.rev >= before.rev, `${after.rev} after ${before.rev}`);
    const pool = (await second.request('/pools/default')).body;
    assert.deepEqual([pool.clusterName, pool.memoryQuota], ['home', 1024]);
    assert.equal((await second.request('/pools/default', { as: null })).status, 401);
  });
});

describe('services', () => {
  const cases: [string, string, RegExp][] = [
    ['an unknown one', 'kv,x', /^Unknown services: \["x"\]$/],
    ['none', '', /^At least one service has to be selected$/],
    [
      'those that this version does not run, by name',
      'kv,index,fts,cbas',
      /fts, cbas\. It runs: kv, index, n1ql, backup/,
    ],
  ];
  for (const [what, services, text] of cases) {
    it(`refuses ${what}`, async () => {
      const { request } = await unprovisioned();
      const { status, body } = await request('/node/controller/setupServices', post({ services }));
      assert.equal(status, 400);
      assert.match(body.errors.services, text);
      assert.deepEqual(
        (await request('/pools/default/nodeServices')).body.nodesExt[0].services.n1ql,
        undefined,
      );
    });
  }

  it('must be named', async () => {
    const { request } = await unprovisioned();
    const { body } = await request('/node/controller/setupServices', post());
    assert.deepEqual(body, { errors: { services: 'The value must be supplied' } });
  });

  it('cannot change once the node is provisioned', async () => {
    const { request } = await aManager();
    const { status, body } = await request('/node/controller/setupServices', { form: { services: 'kv' } });
    const services = 'cannot change node services after cluster is provisioned';
    assert.deepEqual([status, body], [400, { errors: { services } }]);
  });
});

describe('memory', () => {
  it('computes the published quotas', () => {
    const mib = 1024 * 1024;
    assert.equal(nodeQuotaMaxMb(8192 * mib), 7168);
    assert.equal(nodeQuotaMaxMb(1000 * mib), 800);
    const quotas = defaultQuotasMb(8192 * mib);
    assert.equal(quotas.memoryQuota, 256 + Math.floor(((7168 - 256 - 1024 - 256) * 3) / 5));
    assert.equal(defaultQuotasMb(100 * mib).memoryQuota, 256);
  });

  const cases: [string, Record<string, string>, Record<string, RegExp>][] = [
    ['a call without parameters', {}, { _: /^Request should have parameters$/ }],
    ['unknown parameters', { cluster: 'x' }, { cluster: /^Unsupported key$/ }],
    ['words', { memoryQuota: 'all' }, { memoryQuota: /^The value must be an integer$/ }],
    [
      'less than the minimum',
      { memoryQuota: '255', cbasMemoryQuota: '1' },
      {
        memoryQuota:
          /^The data service quota \(255MB\) cannot be less than 256MB \(current total buckets quota, or at least 256MB\)\.$/,
        cbasMemoryQuota: /^The analytics service quota \(1MB\) cannot be less than 1024MB\.$/,
      },
    ],
    [
      'more than the node has',
      { memoryQuota: '7169' },
      { _: /^Total quota \(7169MB\) exceeds the maximum allowed quota \(7168MB\) on node 'ns_1@cb.local'$/ },
    ],
  ];
  for (const [what, form, expected] of cases) {
    it(`refuses ${what}`, async () => {
      const { request } = await aManager();
      const { status, body } = await request('/pools/default', { form });
      assert.equal(status, 400);
      assert.deepEqual(Object.keys(body.errors).sort(), Object.keys(expected).sort());
      for (const [key, text] of Object.entries(expected)) assert.match(body.errors[key], text);
    });
  }

  it('cannot go below the quotas of buckets', async () => {
    const { request } = await aManager();
    await request('/pools/default/buckets', { form: { name: 'b', ramQuotaMB: 600 } });
    const { body } = await request('/pools/default', { form: { memoryQuota: 500 } });
    assert.match(body.errors.memoryQuota, /cannot be less than 600MB/);
  });

  it('accepts quotas of services that do not run, and validates without a change', async () => {
    const { request } = await aManager();
    assert.equal((await request('/pools/default', { form: { ftsMemoryQuota: 999 } })).status, 200);
    const validated = await request('/pools/default?just_validate=1', { form: { ftsMemoryQuota: 300 } });
    assert.deepEqual([validated.status, validated.body], [200, { errors: {} }]);
    assert.equal((await request('/pools/default')).body.ftsMemoryQuota, 999);
  });
});

describe('credentials', () => {
  const cases: [string, Record<string, string>, Record<string, RegExp>][] = [
    ['nothing', {}, { username: /supplied/, password: /supplied/ }],
    ['a port in words', { port: 'x', ...administrator }, { port: /^Port must be a number\.$/ }],
    ['a low port', { port: '80', ...administrator }, { port: /greater than 1023 and less than 65536/ }],
    ['another port than that of the node', { port: '9999', ...administrator }, { port: /8091/ }],
    ['a short password', { port: 'SAME', username: 'a', password: 'x' }, { password: /at least 6/ }],
    [
      'a reserved name',
      { port: 'SAME', ...administrator, username: '@x' },
      { username: /cannot start with '@'/ },
    ],
  ];
  for (const [what, form, expected] of cases) {
    it(`refuses ${what}`, async () => {
      const { request } = await unprovisioned();
      const { status, body } = await request('/settings/web', post(form));
      assert.equal(status, 400);
      assert.deepEqual(Object.keys(body.errors).sort(), Object.keys(expected).sort());
      for (const [key, text] of Object.entries(expected)) assert.match(body.errors[key], text);
      assert.deepEqual((await request('/pools', { as: null })).body.pools, []);
    });
  }

  it('answer with the new base address and provision the default service', async () => {
    const { request } = await unprovisioned();
    const { status, body } = await request(
      '/settings/web',
      post({ port: 'SAME', ...administrator, extra: '1' }),
    );
    assert.deepEqual([status, body], [200, { newBaseUri: 'http://localhost:8091/' }]);
    assert.deepEqual((await request('/settings/web')).body, { port: 8091, username: 'Administrator' });
    const pools = (await request('/pools')).body;
    assert.match(pools.uuid, /^[0-9a-f]{32}$/);
    assert.deepEqual((await request('/nodes/self')).body.services, ['kv']);
    assert.equal((await request('/settings/web', post({ port: 'SAME', ...administrator }))).status, 401);
  });

  it('can be changed by the administrator, keeping the cluster', async () => {
    const { request } = await aManager();
    const { uuid } = (await request('/pools')).body;
    const form = { port: 'SAME', username: 'root', password: 'another' };
    assert.equal((await request('/settings/web', { form })).status, 200);
    assert.equal((await request('/pools', { as: 'root:another' })).body.uuid, uuid);
  });
});

describe('one-call set-up', () => {
  it('is refused once the cluster is provisioned', async () => {
    const { request } = await aManager();
    const form = { services: 'kv', port: 'SAME', ...administrator };
    const { status, body } = await request('/clusterInit', { form });
    assert.deepEqual([status, body.errors._], [400, 'The cluster is already provisioned']);
  });

  it('changes nothing when anything is wrong', async () => {
    const { request } = await unprovisioned();
    const form = {
      services: 'kv',
      clusterName: 'n',
      memoryQuota: '1',
      port: 'SAME',
      username: 'a',
      password: 'x',
      z: '1',
    };
    const { body } = await request('/clusterInit', post(form));
    assert.deepEqual(Object.keys(body.errors).sort(), ['memoryQuota', 'password', 'z']);
    assert.deepEqual((await request('/pools', { as: null })).body.pools, []);
  });

  it('sets folders and names of a node, and reports their problems', async () => {
    const { request } = await unprovisioned();
    assert.equal(
      (await request('/nodeInit', post({ indexPath: '/ours/i', hostname: 'db.local' }))).status,
      200,
    );
    const self = (await request('/nodes/self', { as: null })).body;
    assert.deepEqual([self.storage.hdd[0].index_path, self.otpNode], ['/ours/i', 'ns_1@db.local']);
    const { status, body } = await request('/nodeInit', post({ eventingPath: 'relative' }));
    assert.deepEqual([status, body.errors._], [400, 'An absolute path is required for eventingPath']);
  });

  it('stores the storage mode of indexes, by the rules of the edition', async () => {
    const { request } = await unprovisioned();
    const credentials = { port: 'SAME', username: 'Administrator', password: 'password' };
    const refused = await request('/clusterInit', post({ ...credentials, indexerStorageMode: 'forestdb' }));
    assert.deepEqual([refused.status, Object.keys(refused.body.errors)], [400, ['indexerStorageMode']]);
    await request('/clusterInit', post({ ...credentials, indexerStorageMode: 'memory_optimized' }));
    assert.equal((await request('/settings/indexes')).body.storageMode, 'memory_optimized');
  });

  it('changes nothing if the name cannot be used', async () => {
    const { request } = await unprovisioned();
    const before = (await request('/nodes/self', { as: null })).body.storage;
    const form = { indexPath: '/ours/i', hostname: 'elsewhere' };
    const credentials = { port: 'SAME', username: 'Administrator', password: 'password' };
    for (const answer of [
      await request('/nodeInit', post(form)),
      await request('/clusterInit', post({ ...form, ...credentials })),
    ]) {
      assert.deepEqual(
        [answer.status, answer.body],
        [400, { errors: { _: 'Could not listen on address "elsewhere": eaddrnotavail' } }],
      );
    }
    assert.deepEqual((await request('/nodes/self', { as: null })).body.storage, before);
  });
});

describe('the node itself', () => {
  it('refuses folders that it cannot use, and all once provisioned', async () => {
    const { request } = await unprovisioned();
    const url = '/nodes/self/controller/settings';
    assert.deepEqual((await request(url, post({ index_path: '' }))).body, [
      'index_path cannot contain empty string',
    ]);
    assert.match((await request(url, post({ index_path: '/theirs' }))).body[0], /writable by this node/);
    assert.match((await request(url, post({ path: '/ours/data' }))).body[0], /--data-dir/);
    assert.equal((await request(url, post({ path: '/data' }))).status, 200);
    const refused = await (await aManager()).request(url, { form: { index_path: '/ours/x' } });
    assert.deepEqual(refused.body, [
      'Changing paths of nodes that are part of provisioned cluster is not supported',
    ]);
  });

  it('accepts its data folder for other services, but no folder inside it', async () => {
    const { request } = await unprovisioned();
    const url = '/nodes/self/controller/settings';
    const send = async (form: Record<string, string>) => (await request(url, post(form))).body;
    const inside = (name: string, path: string) =>
      `'${name}' (${path}) must not be a sub-directory of 'data_path' (/data)`;
    assert.deepEqual(
      await send({ index_path: '/data/i', cbas_path: '/data/a', eventing_path: '/linked/e' }),
      [inside('index_path', '/data/i'), inside('cbas_path', '/data/a'), inside('eventing_path', '/data/e')],
    );
    assert.deepEqual((await request('/nodeInit', post({ indexPath: '/data/i' }))).body, {
      errors: { _: inside('indexPath', '/data/i') },
    });
    const shared = { index_path: '/linked/', cbas_path: '/data/', eventing_path: '/data' };
    assert.equal((await request(url, post(shared))).status, 200);
    const [{ index_path, cbas_dirs }] = (await request('/nodes/self', { as: null })).body.storage.hdd;
    assert.deepEqual([index_path, cbas_dirs], ['/data', ['/data']]);
    assert.match((await send({ index_path: '/database' }))[0], /writable/);
  });

  it('keeps a loopback address as its name only if no other node listens there', async () => {
    const { request } = await unprovisioned();
    const nameAfter = async (hostname: string) => {
      assert.equal((await request('/node/controller/rename', post({ hostname }))).status, 200);
      return (await request('/nodes/self', { as: null })).body.configuredHostname;
    };
    assert.equal(await nameAfter('127.64.0.1'), '127.64.0.1:8091');
    assert.equal(await nameAfter('127.64.0.2'), '127.0.0.1:8091');
    assert.equal(await nameAfter('127.0.0.1'), '127.0.0.1:8091');
  });

  it('refuses names that it cannot use', async () => {
    const { request } = await unprovisioned();
    const rename = async (form: Record<string, string>) =>
      (await request('/node/controller/rename', post(form))).body;
    assert.deepEqual(await rename({}), ['The name cannot be empty']);
    assert.deepEqual(await rename({ hostname: 'elsewhere' }), [
      'Could not listen on address "elsewhere": eaddrnotavail',
    ]);
  });

  it('validates alternate addresses', async () => {
    const { request } = await aManager();
    const url = '/node/controller/setupAlternateAddresses/external';
    const put = async (form: Record<string, string>) => (await request(url, { method: 'PUT', form })).text;
    assert.equal(await put({}), 'hostname should be specified');
    assert.match(await put({ hostname: 'not a name' }), /^Invalid hostname specified/);
    assert.equal(await put({ hostname: 'h', x: '1' }), 'Invalid Port "x" : No such port.');
    assert.equal(await put({ hostname: 'h', kv: 'x' }), 'Invalid Port "kv" : Port must be a number.');
    assert.match(await put({ hostname: 'h', kv: '80' }), /greater than 1023 and less than 65536/);
    assert.match(await put({ hostname: 'h', n1ql: '8093' }), /^Cannot set external ports \["n1ql"\]/);
    assert.equal(await put({ hostname: '::1', kv: '11210' }), '');
    assert.equal((await request(url, { method: 'DELETE' })).status, 200);
    assert.equal((await request('/pools/default')).body.nodes[0].alternateAddresses, undefined);
  });

  it('stores the settings of statistics and of the index service', async () => {
    const { request } = await aManager();
    assert.equal((await request('/settings/stats', { form: { sendStats: 'true' } })).status, 200);
    assert.deepEqual((await request('/settings/stats')).body, { sendStats: true });
    const refused = await request('/settings/stats', { form: { sendStats: 'maybe' } });
    assert.equal(refused.body.errors.sendStats, 'The value must be one of the following: [true,false]');
    const indexes = await request('/settings/indexes', { form: { storageMode: 'plasma', numReplica: 1 } });
    assert.deepEqual([indexes.body.storageMode, indexes.body.numReplica], ['plasma', 1]);
    const validated = await request('/settings/indexes?just_validate=1', { form: { numReplica: 2 } });
    assert.deepEqual(validated.body, { errors: {} });
    assert.equal((await request('/settings/indexes')).body.numReplica, 1);
  });
});

it('lets only the reserved administrator set up a reserved node', async () => {
  const { manager, request } = await aManager({ provisioned: false });
  const form = { ...administrator, port: 'SAME' };
  manager.reserveFor(administrator);
  for (const as of [null, 'evil:password', 'Administrator:wrong', 'Administrator:']) {
    assert.equal((await request('/settings/web', { form, as })).status, 401, String(as));
    assert.equal((await request('/clusterInit', { form, as })).status, 401, String(as));
    assert.equal((await request('/pools', { as })).status, 200, 'open before provisioning');
  }
  const as = `${administrator.username}:${administrator.password}`;
  assert.equal((await request('/clusterInit', { form, as })).status, 200);
  assert.equal((await request('/pools/default', { as })).status, 200);
});
