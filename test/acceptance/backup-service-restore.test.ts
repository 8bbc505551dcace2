// What each field of a restore's body does: what is chosen, renamed, filtered, left out, overwritten and dropped; and what /info counts.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Bucket, Cluster } from 'couchbase';
import { BackupApi, self } from '../support/backup-api.ts';
import { backupNode, stateOf } from '../support/bucket-state.ts';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const services = ['--services', 'kv,index,n1ql,backup'];

describe('a restore by the service', () => {
  let node: NodeProcess;
  let api: BackupApi;
  let cluster: Cluster;
  let source: Bucket;
  /** Names of the backups, from the oldest on. */
  const backups: string[] = [];
  let targets = 0;
  /** The bucket into which the test restores. */
  let target = '';

  const keys = async (bucket: string): Promise<string[]> => {
    const state = await stateOf(backupNode(node), bucket);
    return [...state]
      .filter(([, { kind }]) => kind === 'mutation')
      .map(([key]) => key)
      .sort();
  };
  const backUp = async (): Promise<void> => {
    const task = await api.run('travel', 'backup', {});
    assert.equal(task.status, 'done', task.error);
    backups.push((await api.info('travel')).backups.at(-1)?.date ?? '');
  };
  const restore = async (body: object): Promise<void> => {
    const ended = await api.run('travel', 'restore', { map_data: `travel=${target}`, ...body });
    assert.equal(ended.status, 'done', ended.error);
  };
  const failureOf = async (body: object): Promise<string> => {
    const ended = await api.run('travel', 'restore', { map_data: `travel=${target}`, ...body });
    assert.equal(ended.status, 'failed');
    return ended.error ?? '';
  };
  const bucketOf = async (name: string) =>
    (await (await node.request(`/pools/default/buckets/${name}`)).json()) as Record<string, unknown>;
  const create = (name: string, settings: { maxTTL?: number } = {}): Promise<void> =>
    backupNode(node).createBucket(name, { ramQuotaMB: 100, replicaNumber: 0, ...settings });

  before(async () => {
    node = await NodeProcess.start({ args: services });
    api = new BackupApi(node);
    cluster = await connect(`couchbase://${node.ready.node.kv}`, administrator);
    await create('travel', { maxTTL: 5_000_000 });
    const shop = (name: string) => ({ scope: 'shop', name, maxTtl: 0 });
    await backupNode(node).addCollections('travel', {
      scopes: ['empty'],
      collections: [shop('items'), shop('orders'), shop('old')],
    });
    source = cluster.bucket('travel');
    const archive = join(node.dataDir, 'backups', 'travel');
    await api.json('POST', `${self}/active/travel`, {
      plan: '_daily_backups',
      archive,
      bucket_name: 'travel',
    });
    await source.defaultCollection().upsert('first', { n: 1 });
    await source.scope('shop').collection('items').upsert('red', { colour: 'red' });
    await source.scope('shop').collection('items').upsert('blue', { colour: 'blue' });
    await source.scope('shop').collection('orders').upsert('order', { of: 'red' }, { expiry: 10_000 });
    await source.scope('shop').collection('old').upsert('gone', 1);
    await cluster.query('CREATE INDEX by_n ON travel(n)');
    await backUp();
    await source.collections().dropCollection('old', 'shop');
    await source.defaultCollection().upsert('second', { n: 2 });
    await backUp();
  });
  beforeEach(async () => {
    target = `target-${targets++}`;
    await create(target);
  });
  after(async () => {
    await cluster?.close();
    await node?.[Symbol.asyncDispose]();
  });

  const allKeys = [
    '_default._default/first',
    '_default._default/second',
    'shop.items/blue',
    'shop.items/red',
    'shop.orders/order',
  ];

  it('/info counts the documents of each scope and collection', async () => {
    const { backups: shown } = await api.json('GET', `${self}/active/travel/info`);
    // biome-ignore lint/suspicious/noExplicitAny: the answer of the API.
    const counts = shown.map(({ buckets: [bucket] }: any) => [
      bucket.items,
      // biome-ignore lint/suspicious/noExplicitAny: the answer of the API.
      ...Object.values<any>(bucket.scopes)
        .flatMap(({ name, items, collections }) => [
          `${name} ${items}`,
          // biome-ignore lint/suspicious/noExplicitAny: the answer of the API.
          ...Object.values<any>(collections).map((one) => `${name}.${one.name} ${one.items}`),
        ])
        .sort(),
    ]);
    assert.deepEqual(counts, [
      [
        5,
        '_default 1',
        '_default._default 1',
        'empty 0',
        'shop 4',
        'shop.items 2',
        'shop.old 1',
        'shop.orders 1',
      ],
      [1, '_default 1', '_default._default 1', 'empty 0', 'shop 0', 'shop.items 0', 'shop.orders 0'],
    ]);
  });

  it('restores what include_data names, and leaves out what exclude_data names', async () => {
    await restore({ include_data: 'travel.shop.items,travel._default' });
    assert.deepEqual(await keys(target), allKeys.slice(0, 4));
    await create(`${target}x`);
    await restore({ exclude_data: 'travel.shop.items,travel._default', map_data: `travel=${target}x` });
    assert.deepEqual(await keys(`${target}x`), ['shop.orders/order']);
    const { scopes } = await backupNode(node).scopes(`${target}x`);
    assert.ok(scopes.includes('empty'));
    assert.match(
      await failureOf({ include_data: 'travel.none' }),
      /no bucket, scope or collection "travel\.none"/,
    );
  });

  it('renames buckets, scopes and collections by map_data', async () => {
    const map_data = `travel=${target},travel.shop=${target}.store,travel.shop.items=${target}.other.things`;
    await restore({ map_data });
    assert.deepEqual(await keys(target), [
      ...allKeys.slice(0, 2),
      'other.things/blue',
      'other.things/red',
      'store.orders/order',
    ]);
    assert.match(await failureOf({ map_data: 'travel' }), /is not of the form a=b/);
    assert.match(await failureOf({ map_data: 'none=x' }), /no bucket, scope or collection "none"/);
  });

  it('filters keys and values', async () => {
    await restore({ filter_keys: 'r(e)d|order' });
    assert.deepEqual(await keys(target), ['shop.items/red', 'shop.orders/order']);
    await create(`${target}x`);
    await restore({ filter_values: '"colour":"b', map_data: `travel=${target}x` });
    assert.deepEqual(await keys(`${target}x`), ['shop.items/blue']);
    assert.match(await failureOf({ filter_values: '(?=a)' }), /RE2/);
  });

  it('restores the backups from the one that start names to the one that end names', async () => {
    const [first = '', second = ''] = backups;
    await restore({ end: first });
    assert.ok((await keys(target)).includes('shop.old/gone'));
    assert.ok(!(await keys(target)).includes('_default._default/second'));
    await create(`${target}x`);
    await restore({ start: second, map_data: `travel=${target}x` });
    assert.deepEqual(await keys(`${target}x`), ['_default._default/second']);
    assert.match(await failureOf({ start: second, end: first }), /is newer than the last one/);
    assert.match(await failureOf({ end: 'none' }), /has no complete backup "none"/);
  });

  it('drops collections that the newest backup no longer has, but only with auto_remove_collections', async () => {
    const hasOld = async () =>
      (await backupNode(node).scopes(target)).collections.some(({ name }) => name === 'old');
    await restore({ end: backups[0] });
    await restore({});
    assert.equal(await hasOld(), true);
    await restore({ auto_remove_collections: true });
    assert.equal(await hasOld(), false);
    assert.deepEqual(await keys(target), allKeys);
  });

  it('overwrites newer versions only with force_updates', async () => {
    const first = cluster.bucket(target).defaultCollection();
    // More revisions than the document of the backup has: the one with more revisions is newer.
    for (let n = 0; n < 5; n++) await first.upsert('first', 'newer');
    await restore({});
    assert.equal((await first.get('first')).content, 'newer');
    await restore({ force_updates: true });
    assert.deepEqual((await first.get('first')).content, { n: 1 });
  });

  it('creates buckets with auto_create_buckets, and gives them settings with enable_bucket_config', async () => {
    const map_data = `travel=${target}-new`;
    assert.match(await failureOf({ map_data }), /the node has no bucket/);
    await restore({ map_data, auto_create_buckets: true });
    assert.equal((await bucketOf(`${target}-new`))['maxTTL'], 5_000_000);
    await restore({});
    assert.equal((await bucketOf(target))['maxTTL'], 0);
    await restore({ enable_bucket_config: true });
    assert.equal((await bucketOf(target))['maxTTL'], 5_000_000);
  });

  it('replaces the expiry of all documents, or with replace_ttl=expired not of those that have not expired', async () => {
    const expiry = async () =>
      (await stateOf(backupNode(node), target)).get('shop.orders/order')?.expiry ?? Number.NaN;
    await restore({});
    assert.ok((await expiry()) > Date.now() / 1_000);
    await restore({ force_updates: true, replace_ttl: 'expired', replace_ttl_with: '0' });
    assert.ok((await expiry()) > Date.now() / 1_000);
    await restore({ force_updates: true, replace_ttl: 'all', replace_ttl_with: '2090-01-01T00:00:00Z' });
    assert.equal(await expiry(), 3_786_912_000);
    await restore({ force_updates: true, replace_ttl: 'all', replace_ttl_with: '0' });
    assert.equal(await expiry(), 0);
  });

  it('leaves out documents with disable_data and indexes with disable_gsi_indexes', async () => {
    const indexNames = async () => {
      const { indexes } = (await (await node.request('/indexStatus')).json()) as {
        indexes: { indexName: string; bucket: string }[];
      };
      return indexes.filter(({ bucket }) => bucket === 'travel').map(({ indexName }) => indexName);
    };
    await restore({ disable_data: true });
    assert.deepEqual(await keys(target), []);
    const { collections } = await backupNode(node).scopes(target);
    assert.ok(collections.some(({ name }) => name === 'orders'));
    await cluster.query('DROP INDEX travel.by_n');
    // Restores into the bucket of the same name: definitions of indexes name their bucket.
    await restore({ map_data: '', disable_gsi_indexes: true });
    await eventually(async () => assert.deepEqual(await indexNames(), []));
    await restore({ map_data: '', disable_data: true });
    await eventually(async () => assert.deepEqual(await indexNames(), ['by_n']));
  });

  it('accepts the fields disable_… of services whose definitions a backup never contains, and empty texts', async () => {
    await restore({
      disable_ft: true,
      disable_views: true,
      disable_analytics: true,
      disable_eventing: false,
      disable_cluster_query: true,
      disable_bucket_query: true,
      disable_cluster_analytics: true,
      disable_ft_alias: true,
      target: '',
      user: '',
      password: '',
      start: '',
      end: '',
    });
    assert.deepEqual(await keys(target), allKeys);
  });

  it('examines a document in all backups, also a deletion, and says what is wrong with a request', async () => {
    const examine = (body: unknown) => api.send('POST', `${self}/active/travel/examine`, body);
    const path = 'travel.shop.orders';
    const [line = '', ...more] = (await (await examine({ key: 'order', data_path: path })).text())
      .trim()
      .split('\n');
    assert.deepEqual(more, []);
    const { backup, sequence_number, key, value, metadata, deleted } = JSON.parse(line);
    assert.deepEqual([backup, key, value, deleted], [backups[0], 'order', { of: 'red' }, false]);
    assert.ok(sequence_number > 0);
    const fields = ['cas', 'datatype', 'expiry', 'flags', 'locktime', 'revseqno'];
    assert.deepEqual(Object.keys(metadata).sort(), fields);
    assert.ok(metadata.expiry > 0);
    await source.scope('shop').collection('orders').remove('order');
    await backUp();
    const versions = (await (await examine({ key: 'order', data_path: path })).text())
      .trim()
      .split('\n')
      .map((version) => JSON.parse(version));
    assert.deepEqual(
      versions.map((version) => [version.backup, version.deleted]),
      [
        [backups[0], false],
        [backups[2], true],
      ],
    );
    assert.equal(await (await examine({ key: 'none', data_path: path })).text(), '');
    for (const [body, extras] of [
      [{ data_path: path }, /^key: must be a key/],
      [{ key: 'x'.repeat(251), data_path: path }, /^key: must be a key of at most 250 bytes/],
      [{ key: 'k' }, /^data_path: must be bucket\.scope\.collection/],
      [{ key: 'k', data_path: 'a.b' }, /^data_path: must be bucket\.scope\.collection, or a bucket/],
    ] as const) {
      const refused = await api.refusal('POST', `${self}/active/travel/examine`, body);
      assert.deepEqual([refused.status, refused.msg], [400, 'invalid request body']);
      assert.match(refused.extras ?? '', extras);
    }
  });
});
