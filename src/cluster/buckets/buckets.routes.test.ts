import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';

const mib = 1024 * 1024;
const buckets = '/pools/default/buckets';

async function aBucket(form: Record<string, string | number> = {}, options = {}) {
  const node = await aManager(options);
  const answer = await node.request(buckets, { form: { name: 'b', ramQuotaMB: 100, ...form } });
  assert.equal(answer.status, 202, answer.text);
  return { ...node, created: answer };
}

/** Fields of the published record of a native bucket. */
const recordFields = [
  'name',
  'nodeLocator',
  'uuid',
  'uri',
  'streamingUri',
  'bucketCapabilitiesVer',
  'bucketCapabilities',
  'collectionsManifestUid',
  'ddocs',
  'vBucketServerMap',
  'bucketType',
  'authType',
  'localRandomKeyUri',
  'controllers',
  'nodes',
  'stats',
  'autoCompactionSettings',
  'replicaIndex',
  'replicaNumber',
  'threadsNumber',
  'quota',
  'basicStats',
  'evictionPolicy',
  'storageBackend',
  'durabilityMinLevel',
  'pitrEnabled',
  'pitrGranularity',
  'pitrMaxHistoryAge',
  'fragmentationPercentage',
  'conflictResolutionType',
  'maxTTL',
  'compressionMode',
  'saslPassword',
];
const nodeFields = [
  'couchApiBaseHTTPS',
  'couchApiBase',
  'clusterMembership',
  'recoveryType',
  'status',
  'otpNode',
  'thisNode',
  'hostname',
  'nodeUUID',
  'clusterCompatibility',
  'version',
  'os',
  'cpuCount',
  'ports',
  'services',
  'nodeEncryption',
  'addressFamilyOnly',
  'configuredHostname',
  'addressFamily',
  'externalListeners',
  'replication',
  'systemStats',
  'interestingStats',
  'uptime',
  'memoryTotal',
  'memoryFree',
  'mcdMemoryReserved',
  'mcdMemoryAllocated',
];

describe('bucket records', () => {
  it('carry every published field', async () => {
    const { request } = await aBucket();
    const { body } = await request(`${buckets}/b`);
    assert.deepEqual(
      recordFields.filter((name) => !(name in body)),
      [],
    );
    assert.deepEqual(
      nodeFields.filter((name) => !(name in body.nodes[0])),
      [],
    );
  });

  it('show what the data service measured', async () => {
    const { request, kv } = await aBucket({ replicaNumber: 0 });
    kv.figures['b'] = { items: 7, memUsed: 25 * mib, dataBytes: 1000, diskBytes: 2000, nonResident: 3 };
    const { body } = await request(`${buckets}/b`);
    assert.deepEqual(body.basicStats, {
      quotaPercentUsed: 25,
      opsPerSec: 0,
      diskFetches: 0,
      itemCount: 7,
      diskUsed: 2000,
      dataUsed: 1000,
      memUsed: 25 * mib,
      vbActiveNumNonResident: 3,
    });
    assert.equal(body.nodes[0].interestingStats.curr_items, 7);
    assert.deepEqual(body.quota, { ram: 100 * mib, rawRAM: 100 * mib, bytes: 100 * mib });
  });

  it('count documents of copies separately, and in the total', async () => {
    const { request, kv } = await aBucket({ replicaNumber: 0 });
    const figuresOf = (items: number) => ({ vbuckets: 1, items });
    const vbuckets = { active: figuresOf(7), replica: figuresOf(5), pending: figuresOf(2) };
    kv.figures['b'] = { items: 7, vbuckets };
    for (const path of [`${buckets}/b`, '/pools/default']) {
      const [node] = (await request(path)).body.nodes;
      const { curr_items, curr_items_tot, vb_replica_curr_items } = node.interestingStats;
      assert.deepEqual([curr_items, curr_items_tot, vb_replica_curr_items], [7, 14, 5], path);
    }
  });

  it('name the host that the caller reached while the node has no name, and a placeholder in terse form', async () => {
    const { request } = await aBucket();
    const { body } = await request(`${buckets}/b`);
    assert.equal(body.nodes[0].hostname, '127.0.0.1:8091');
    assert.deepEqual(body.vBucketServerMap.serverList, ['127.0.0.1:11210']);
    assert.equal(body.nodes[0].couchApiBase, `http://127.0.0.1:8092/b%2B${body.uuid}`);
    const terse = (await request('/pools/default/b/b')).body;
    assert.deepEqual(terse.vBucketServerMap.serverList, ['$HOST:11210']);
    assert.equal(terse.nodes[0].hostname, '$HOST:8091');
    assert.equal('hostname' in terse.nodesExt[0], false);
    assert.equal(terse.nodesExt[0].thisNode, true);
  });

  it('show their type by the name with which they were created, in terse form by the branded name', async () => {
    const { request } = await aBucket();
    for (const [name, sent, read] of [
      ['n', 'native', 'native'],
      ['m', 'couchbase', 'membase'],
      ['c', 'memcached', 'memcached'],
      ['d', 'cache', 'cache'],
      ['e', 'ephemeral', 'ephemeral'],
    ] as const) {
      await request(buckets, { form: { name, ramQuotaMB: 100, bucketType: sent } });
      assert.equal((await request(`${buckets}/${name}`)).body.bucketType, read);
    }
    assert.equal((await request(`${buckets}/b`)).body.bucketType, 'membase');
    assert.equal((await request('/pools/default/b/n')).body.bucketType, 'membase');
    const cache = (await request('/pools/default/b/d')).body;
    assert.deepEqual([cache.bucketType, cache.nodeLocator], ['memcached', 'ketama']);
    assert.equal('vBucketServerMap' in cache, false);
  });

  it('contain only paths that the node answers', async () => {
    const { request, kv } = await aBucket({ flushEnabled: 1 });
    kv.key = 'some';
    const { body } = await request(`${buckets}/b`);
    const reads = [body.uri, body.ddocs.uri, body.localRandomKeyUri];
    reads.push(body.stats.uri, body.stats.directoryURI, body.stats.nodeStatsListURI);
    const { servers } = (await request(body.stats.nodeStatsListURI)).body;
    reads.push(servers[0].uri, servers[0].stats.uri, `${buckets}/b/stats/ops`, `${buckets}/b/statsDirectory`);
    for (const uri of reads) assert.equal((await request(uri)).status, 200, uri);
    for (const uri of Object.values(body.controllers) as string[]) {
      const { status } = await request(uri, { method: 'POST' });
      assert.equal(status, uri.endsWith('startRecovery') ? 501 : 200, uri);
    }
  });

  it('show compaction settings of the bucket, and none for ephemeral buckets', async () => {
    const { request } = await aBucket({
      autoCompactionDefined: 'true',
      parallelDBAndViewCompaction: 'false',
      'databaseFragmentationThreshold[size]': 10,
    });
    const { body } = await request(`${buckets}/b`);
    assert.deepEqual(body.autoCompactionSettings, {
      parallelDBAndViewCompaction: false,
      databaseFragmentationThreshold: { percentage: 30, size: 10 },
      viewFragmentationThreshold: { percentage: 30, size: 'undefined' },
    });
    assert.equal(body.purgeInterval, 3);
    await request(buckets, { form: { name: 'e', ramQuotaMB: 100, bucketType: 'ephemeral' } });
    assert.equal('autoCompactionSettings' in (await request(`${buckets}/e`)).body, false);
  });

  it('are listed by name, without the map if requested', async () => {
    const { request } = await aBucket();
    await request(buckets, { form: { name: 'a', ramQuotaMB: 100 } });
    const { body } = await request(`${buckets}?skipMap=true`);
    assert.deepEqual(
      body.map((bucket: { name: string }) => bucket.name),
      ['a', 'b'],
    );
    assert.equal('vBucketServerMap' in body[0], false);
  });
});

describe('bucket requests', () => {
  it('answer a creation with 202, an empty body and the location', async () => {
    const { created } = await aBucket();
    assert.equal(created.text, '');
    assert.equal(created.headers['location'], '/pools/default/buckets/b');
  });

  it('answer refusals in both published forms', async () => {
    const { request } = await aManager();
    const { status, body } = await request(buckets, { form: { ramQuotaMB: 10 } });
    assert.equal(status, 400);
    assert.equal(body.name, 'Bucket name needs to be specified');
    assert.equal(body.errors.name, body.name);
    assert.equal(body.ramQuotaMB, 'RAM quota cannot be less than 100 MB');
    assert.equal(body.summaries.ramSummary.total, 1024 * mib);
  });

  it('validate without a change', async () => {
    const { request } = await aManager();
    const form = { name: 'b', ramQuotaMB: 100 };
    const validate = (query: string, more: object) =>
      request(`${buckets}?just_validate=1${query}`, { form: { ...form, ...more } });
    const warned = await validate('', { replicaNumber: 1 });
    assert.deepEqual([warned.status, Object.keys(warned.body.errors)], [400, ['replicaNumber']]);
    for (const fine of [await validate('&ignore_warnings=1', { replicaNumber: 1 }), await validate('', {})])
      assert.deepEqual([fine.status, fine.body.errors], [200, {}]);
    assert.deepEqual((await request(buckets)).body, []);
    await request(buckets, { form });
    const edit = (query: string) =>
      request(`${buckets}/b?just_validate=1${query}`, { form: { ramQuotaMB: 200 } });
    assert.equal((await edit('')).status, 202);
    assert.equal((await edit('&ignore_warnings=1')).status, 200);
    assert.equal((await request(`${buckets}/b`)).body.quota.rawRAM, 100 * mib);
  });

  it('find a bucket only with its uuid if they contain one', async () => {
    const { request } = await aBucket();
    const { uuid, streamingUri } = (await request(`${buckets}/b`)).body;
    assert(streamingUri.endsWith(`?bucket_uuid=${uuid}`));
    assert.equal((await request(`${buckets}/b?bucket_uuid=${uuid}`)).status, 200);
    const other = await request(`${buckets}/b?bucket_uuid=0`);
    assert.deepEqual([other.status, other.text], [404, 'Bucket uuid does not match the requested.\r\n']);
    assert.equal((await request(`${buckets}/none`)).text, 'Requested resource not found.\r\n');
  });

  it('are permitted to the published roles', async () => {
    const { request } = await aBucket({ replicaNumber: 0 });
    for (const [name, roles] of [
      ['ba', 'bucket_admin[b]'],
      ['bs', 'bucket_admin[*]'],
      ['ca', 'cluster_admin'],
      ['ro', 'ro_admin'],
      ['backup', 'backup_admin'],
      ['reader', 'data_reader[b]'],
    ] as const) {
      const form = { password: 'password', roles };
      assert.equal(
        (await request(`/settings/rbac/users/local/${name}`, { method: 'PUT', form })).status,
        200,
      );
    }
    const status = async (as: string, url: string, form: Record<string, string | number>) =>
      (await request(url, { as: `${as}:password`, form })).status;
    const edit = { flushEnabled: 0 };
    assert.equal(await status('ca', `${buckets}/b`, edit), 200);
    assert.equal(await status('ba', `${buckets}/b`, edit), 200);
    assert.equal(await status('bs', `${buckets}/b`, edit), 200);
    assert.equal(await status('ro', `${buckets}/b`, edit), 403);
    assert.equal(await status('backup', `${buckets}/b`, edit), 403);
    assert.equal(await status('ba', buckets, { name: 'x', ramQuotaMB: 100 }), 403);
    assert.equal(await status('backup', buckets, { name: 'x', ramQuotaMB: 100 }), 403);
    assert.equal(await status('ca', buckets, { name: 'x', ramQuotaMB: 100 }), 202);
    const seen = (await request(buckets, { as: 'reader:password' })).body;
    assert.deepEqual(
      seen.map((bucket: { name: string }) => bucket.name),
      ['b'],
    );
  });

  it('delete a bucket, and answer 404 for it afterwards', async () => {
    const { request } = await aBucket();
    const { status, text } = await request(`${buckets}/b`, { method: 'DELETE' });
    assert.deepEqual([status, text], [200, '']);
    assert.equal((await request(`${buckets}/b`)).status, 404);
    assert.equal((await request('/pools/default/b/b')).status, 404);
  });

  it('start and cancel compactions, which the list of tasks shows', async () => {
    const { request, kv, clock } = await aBucket({});
    const { uuid } = (await request(`${buckets}/b`)).body;
    const call = (name: string) => request(`${buckets}/b/controller/${name}`, { method: 'POST' });
    const calls = ['compactBucket', 'compactDatabases', 'unsafePurgeBucket'];
    for (const name of [...calls, 'cancelBucketCompaction', 'cancelDatabasesCompaction']) {
      const { status, body } = await call(name);
      assert.deepEqual([status, body], [200, undefined], name);
    }
    const purgeBeforeSeconds = Math.floor(clock.wallMs() / 1000 - 3 * 86_400);
    assert.deepEqual(kv.compactions, [
      [uuid, { origin: 'bucket', purgeBeforeSeconds }],
      [uuid, { origin: 'databases', purgeBeforeSeconds }],
      [uuid, { origin: 'bucket', purgeBeforeSeconds: 'all' }],
      [uuid, 'cancel bucket'],
      [uuid, 'cancel databases'],
    ]);
    const compaction = { origin: 'databases', done: 199, total: 300 };
    kv.figures['b'] = { compaction, dataBytes: 3000, freeDiskBytes: 1000, diskBytes: 9000 };
    const tasks = (await request('/pools/default/tasks')).body as { type: string }[];
    assert.deepEqual(tasks[1], {
      type: 'bucket_compaction',
      recommendedRefreshPeriod: 2,
      status: 'running',
      bucket: 'b',
      changesDone: 199,
      totalChanges: 300,
      progress: 66,
      cancelURI: `${buckets}/b/controller/cancelDatabasesCompaction`,
    });
    assert.equal((await request(`${buckets}/b`)).body.fragmentationPercentage, 25);
    assert.equal((await request(`${buckets}/none/controller/compactBucket`, { method: 'POST' })).status, 404);
  });

  it('refuse a flush that is not enabled, and send an enabled one to the data service', async () => {
    const { request, kv } = await aBucket();
    const flush = () => request(`${buckets}/b/controller/doFlush`, { method: 'POST' });
    const refused = await flush();
    assert.deepEqual([refused.status, refused.body], [400, { _: 'Flush is disabled for the bucket' }]);
    await request(`${buckets}/b`, { form: { flushEnabled: 1 } });
    assert.equal((await flush()).status, 200);
    assert.equal(kv.desired?.buckets[0]?.incarnation, 1);
  });

  it('answer with a random key, or report that there is none', async () => {
    const { request, kv } = await aBucket();
    const none = await request(`${buckets}/b/localRandomKey`);
    assert.deepEqual([none.status, none.body], [404, { ok: false, error: 'fallback_to_all_docs' }]);
    kv.key = 'k';
    assert.deepEqual((await request(`${buckets}/b/localRandomKey`)).body, { ok: true, key: 'k' });
  });

  it('answer with sample series, and refuse unknown zooms', async () => {
    const { request, kv, clock, sample } = await aBucket();
    const { op: empty } = (await request(`${buckets}/b/stats?zoom=hour`)).body;
    assert.deepEqual([empty.samples.timestamp, empty.samplesCount], [[], 0]);
    await sample();
    kv.figures['b'] = { metaSets: 20, items: 7 };
    clock.advance(2000);
    await sample();
    const recent = (await request(`${buckets}/b/stats`)).body.op;
    assert.deepEqual([recent.samples.xdc_ops.at(-1), recent.samples.curr_items.at(-1)], [10, 7]);
    assert.equal(recent.samples.timestamp.length, recent.samplesCount);
    const named = (await request(`${buckets}/b/stats/xdc_ops`)).body;
    assert.deepEqual(named.nodeStats, { '127.0.0.1:8091': recent.samples.xdc_ops });
    assert.deepEqual([named.timestamp.at(-1), named.interval], [recent.lastTStamp, 1000]);
    const later = (await request(`${buckets}/b/stats?haveTStamp=${recent.lastTStamp}`)).body.op;
    assert.deepEqual([later.samples.timestamp, later.samplesCount, later.lastTStamp], [[], 0, 0]);
    const wrong = await request(`${buckets}/b/stats?zoom=second`);
    assert.deepEqual([wrong.status, wrong.text], [400, 'incorrect zoom value']);
    const statistic = (await request(`${buckets}/b/stats/replications%2Fu%2Fb%2Fc%2Fdocs_written`)).body;
    assert.deepEqual([statistic.nodeStats, statistic.timestamp], [{ '127.0.0.1:8091': [] }, []]);
    assert.equal((await request(`${buckets}/b/nodes/other%3A8091`)).status, 404);
    const [block] = (await request(`${buckets}/b/statsDirectory`)).body.blocks;
    const names = block.stats.map(({ name }: { name: string }) => name).sort();
    const { timestamp: _, ...figures } = recent.samples;
    assert.deepEqual(names, Object.keys(figures).sort());
  });

  it('for statistics tell whether the bucket stores documents on disk', async () => {
    const { request } = await aBucket();
    const form = { name: 'e', bucketType: 'ephemeral', ramQuotaMB: 100, replicaNumber: 0 };
    assert.equal((await request(buckets, { form })).status, 202);
    for (const [name, isPersistent] of [
      ['b', true],
      ['e', false],
    ] as const) {
      assert.equal((await request(`${buckets}/${name}/stats`)).body.op.isPersistent, isPersistent);
      assert.equal((await request(`${buckets}/${name}/stats/ops`)).body.isPersistent, isPersistent);
    }
  });

  it('for statistics, and no others, accept the name of a service section in place of a bucket', async () => {
    const { request } = await aBucket();
    for (const [path, status] of [
      ['@query/stats', 200],
      ['@query/stats/query_selects', 200],
      ['@system/nodes/127.0.0.1%3A8091/stats', 200],
      ['@index-b/stats', 200],
      ['@index-none/stats', 404],
      ['@none/stats', 404],
      ['@query', 404],
    ] as const)
      assert.equal((await request(`${buckets}/${path}`)).status, status, path);
  });
});
