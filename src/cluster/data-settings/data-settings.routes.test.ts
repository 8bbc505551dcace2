import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { nodeNamed } from '../../../test/support/cluster.ts';
import { aManager, managedCluster } from '../../../test/support/manager.ts';
import {
  checkSettings,
  managerTarget,
  type Parameter,
  refusals,
} from '../../../test/support/settings-suite.ts';

const base = '/pools/default/settings/memcached';
const path = `${base}/global`;
const intMax = 2_147_483_647;

const integer = (name: string, min: number): Parameter => ({
  name,
  good: [
    [`${min}`, min],
    [`${intMax}`, intMax],
  ],
  bad: [
    [`${min - 1}`, 'too_small'],
    [`${intMax + 1}`, 'too_large'],
    ['1000000000000000000000', 'too_large'],
    ['x', 'invalid'],
    ['', 'invalid'],
    ['1.5', 'invalid'],
  ],
  missing: { reads: intMax },
});
const threads = (name: string, ...words: string[]): Parameter => ({
  name,
  good: [
    ...words.map((word) => [word, word] as const),
    ...([
      ['1', 1],
      ['64', 64],
    ] as const),
  ],
  bad: [
    ['0', 'too_small'],
    ['65', 'too_large'],
    ['many', 'invalid'],
    ['', 'invalid'],
  ],
  missing: { reads: 64 },
});
const flag = (name: string): Parameter => ({
  name,
  good: [
    ['true', true],
    ['false', false],
  ],
  bad: ['', '1', 'TRUE'].map((sent) => [sent, 'must be either true or false'] as const),
  missing: { reads: false },
});
const text = (name: string): Parameter => ({
  name,
  good: [
    ['', ''],
    ['HIGH', 'HIGH'],
  ],
  bad: [['x'.repeat(1001), 'invalid']],
  missing: { reads: 'HIGH' },
});

const parameters: Parameter[] = [
  integer('max_connections', 2000),
  integer('system_connections', 1000),
  integer('connection_idle_time', 0),
  integer('verbosity', 0),
  threads('num_reader_threads', 'default', 'disk_io_optimized'),
  threads('num_writer_threads', 'default', 'disk_io_optimized'),
  threads('num_auxio_threads', 'default'),
  threads('num_nonio_threads', 'default'),
  threads('num_storage_threads', 'default'),
  ...['privilege_debug', 'dedupe_nmvb_maps', 'breakpad_enabled', 'tracing_enabled', 'datatype_snappy'].map(
    flag,
  ),
  ...['ssl_cipher_list', 'breakpad_minidump_dir_path'].map(text),
  ...['threads', 'default_reqs_per_event'].map((name) => integer(name, 0)),
  ...['high', 'med', 'low'].map((priority) => integer(`reqs_per_event_${priority}_priority`, 0)),
];

describe("the data service's settings", () => {
  test('keep both limits of every range over restarts, and refuse values beyond them', async (t) => {
    await using target = await managerTarget();
    await checkSettings(t, target, {
      write: path,
      read: path,
      status: 202,
      refusal: refusals.bare,
      parameters,
    });
  });

  test('of one node also keep both limits of every range', async (t) => {
    await using target = await managerTarget();
    const selfPath = `${base}/node/self`;
    await checkSettings(t, target, {
      write: selfPath,
      read: selfPath,
      status: 202,
      refusal: refusals.bare,
      parameters,
    });
  });

  it('show only values that were set, and answer a change with all of them', async () => {
    const { request } = await aManager();
    assert.deepEqual((await request(path)).body, {});
    await request(path, { form: { verbosity: 1 } });
    const { status, body } = await request(path, { form: { max_connections: 3000 } });
    assert.deepEqual([status, body], [202, { verbosity: 1, max_connections: 3000 }]);
  });

  it('can be chosen for the cluster while the node is set up, without credentials', async (t) => {
    const { request, manager } = await aManager({ provisioned: false });
    t.after(() => manager.stop());
    assert.equal((await request(path, { form: { num_reader_threads: '4' }, as: null })).status, 202);
    const account = { username: 'Administrator', password: 'password' };
    assert.equal((await request('/settings/web', { form: account, as: null })).status, 200);
    assert.equal((await request(path, { form: { num_reader_threads: '5' }, as: null })).status, 401);
    assert.deepEqual((await request(path)).body, { num_reader_threads: 4 });
  });

  it('refuse unknown names without changing anything', async () => {
    const { request } = await aManager();
    const { status, body } = await request(path, { form: { verbosity: 1, x: 1 } });
    assert.deepEqual([status, body], [400, { _: 'Unknown POST parameters: ["x"]' }]);
    assert.deepEqual((await request(path)).body, {});
  });

  it('of a node override those of the cluster until they are removed', async () => {
    const { request } = await aManager();
    await request(path, { form: { max_connections: 3000, verbosity: 2 } });
    await request(`${base}/node/ns_1@cb.local`, { form: { max_connections: 4000 } });
    const effective = async () => (await request(`${base}/effective/self`)).body;
    const { max_connections, verbosity, system_connections, num_reader_threads } = await effective();
    assert.deepEqual(
      [max_connections, verbosity, system_connections, num_reader_threads],
      [4000, 2, 5000, 'default'],
    );
    const settingPath = `${base}/node/self/setting/max_connections`;
    assert.deepEqual((await request(settingPath)).body, { value: 4000 });
    const removed = await request(settingPath, { method: 'DELETE' });
    assert.deepEqual([removed.status, removed.body], [202, []]);
    assert.equal((await effective()).max_connections, 3000);
  });

  it('answer 404 for unknown nodes and names', async () => {
    const { request } = await aManager();
    const paths = [
      'node/other',
      'effective/other',
      'node/self/setting/verbosity',
      'node/self/setting/constructor',
    ];
    for (const settingPath of paths) {
      const { status, body } = await request(`${base}/${settingPath}`);
      assert.deepEqual([status, body], [404, []], settingPath);
    }
    const removed = await request(`${base}/node/self/setting/verbosity`, { method: 'DELETE' });
    assert.deepEqual([removed.status, removed.body], [404, []]);
  });

  it('of another node are set and read by its name', async (t) => {
    const { request, manager } = await managedCluster([nodeNamed('b')]);
    t.after(() => manager.stop());
    const form = { max_connections: 4000 };
    assert.equal((await request(`${base}/node/ns_1%40b`, { form })).status, 202);
    const connectionsOf = async (node: string) =>
      (await request(`${base}/effective/${node}`)).body.max_connections;
    assert.deepEqual([await connectionsOf('ns_1%40b'), await connectionsOf('self')], [4000, 65_000]);
  });

  it('reach the data service at once', async () => {
    const { request, kv } = await aManager();
    assert.deepEqual(kv.desired?.limits, { connectionsMax: 65_000, idleSeconds: 0, logsConnections: false });
    await request(path, { form: { max_connections: 2000, connection_idle_time: 7, verbosity: 1 } });
    assert.deepEqual(kv.desired?.limits, { connectionsMax: 2000, idleSeconds: 7, logsConnections: true });
    assert.deepEqual(kv.desired?.threads, { readers: 'default', writers: 'default', storage: 'default' });
    const threads = {
      num_reader_threads: 2,
      num_writer_threads: 'disk_io_optimized',
      num_storage_threads: 4,
    };
    await request(path, { form: threads });
    assert.deepEqual(kv.desired?.threads, { readers: 2, writers: 'disk_io_optimized', storage: 4 });
  });
});
