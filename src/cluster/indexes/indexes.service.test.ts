import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import type { NewIndex } from '#index/index.contract.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import type { ChangeOptions } from '#replog/config-store.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { bucketsKey } from '../config/cluster-state.ts';
import { IndexesService } from './indexes.service.ts';
import { indexesKey, noIndexes } from './indexes-state.ts';
import { noIndexService } from './no-index-service.ts';

const serviceOn = (store: MemoryConfigStore, view: object): IndexesService =>
  new IndexesService({
    store,
    view: {
      cluster: { nodes: [], quotas: { indexMemoryQuota: 512 } },
      self: { services: null, paths: { index: '/data', data: '/data' } },
      onChange: () => ({ stop: () => {} }),
      ...view,
    } as never,
    indexAdmin: noIndexService,
    random: realRandom,
    log: silentLog,
  });

test('the index definitions service removes the definitions of a deleted bucket, and stops only after that', async () => {
  const store = new MemoryConfigStore();
  await store.put(indexesKey('gone'), noIndexes, 0);
  await store.put(bucketsKey, { memoryQuotaMb: 256, byUuid: {} }, 0);
  const service = serviceOn(store, { buckets: { byUuid: {} } });
  await service.start();
  const gate = deferred<void>();
  const get = store.get.bind(store);
  store.get = async <T>(key: string) => {
    await gate.promise;
    return await get<T>(key);
  };
  service.follow();
  await new Promise(setImmediate); // the removal has begun
  let isStopped = false;
  const stopped = service.stop().then(() => {
    isStopped = true;
  });
  await new Promise(setImmediate);
  assert.equal(isStopped, false);
  gate.resolve();
  await stopped;
  assert.equal(await get(indexesKey('gone')), null);
});

test('the index definitions service keeps the definitions of a bucket that a stale read does not show', async () => {
  const store = new MemoryConfigStore();
  const before = { memoryQuotaMb: 256, byUuid: {} };
  const revision = (await store.put(bucketsKey, before, 0)) as number;
  await store.put(bucketsKey, { ...before, byUuid: { b: { state: 'ready' } } }, revision);
  await store.put(indexesKey('b'), noIndexes, 0);
  const get = store.get.bind(store);
  store.get = async <T>(key: string) =>
    key === bucketsKey ? { key, value: before as T, revision } : await get<T>(key);
  const service = serviceOn(store, { buckets: { byUuid: {} } });
  await service.start();
  service.follow();
  await new Promise(setImmediate); // the search has begun
  await service.stop();
  assert.notEqual(await get(indexesKey('b')), null);
});

const manifest = {
  scopes: [{ name: '_default', uid: '0', collections: [{ name: '_default', uid: '0' }] }],
};

/** A view of one bucket `b`. */
const oneBucket = {
  buckets: { byUuid: { b: { state: 'ready', type: 'native' } } },
  manifest: () => manifest,
  setting: <T>(_: string, initial: T) => initial,
};

const anIndex = (name: string, changes: object = {}): NewIndex =>
  ({
    name,
    keyspace: {
      bucketUuid: 'b',
      collectionId: 0,
      name: { bucket: 'b', scope: '_default', collection: '_default' },
    },
    isPrimary: true,
    keys: [],
    isDeferred: true,
    ...changes,
  }) as never;

test('the index definitions service reports that an index exists, also where a new one would be refused', async () => {
  const store = new MemoryConfigStore();
  const stored = Array.from({ length: 1_000 }, (_, n) => {
    const id = `id${n}`;
    return [id, { definition: { ...anIndex(`i${n}`), id }, isBuilt: false }];
  });
  await store.put(indexesKey('b'), { byId: Object.fromEntries(stored) }, 0);
  const service = serviceOn(store, oneBucket);
  await service.start();
  const exists = { kind: 'exists', id: 'id0' };
  assert.equal((await service.create(anIndex('more'))).kind, 'refused');
  assert.deepEqual(await service.create(anIndex('i0')), exists);
  assert.deepEqual(await service.create(anIndex('i0', { replicas: 5 })), exists);
  await service.stop();
});

test('the index definitions service keeps a later change of another node that arrives before the own change has ended', async () => {
  const store = new MemoryConfigStore();
  const service = serviceOn(store, oneBucket);
  await service.start();
  const put = store.put.bind(store);
  store.put = async <T>(key: string, value: T, expected: number) => {
    const revision = await put(key, value, expected);
    // Another node drops the index, and both changes arrive together.
    if (revision !== null && key === indexesKey('b')) await put(key, noIndexes, revision);
    return revision;
  };
  const outcome = await service.create(anIndex('i'));
  assert.equal(outcome.kind, 'created');
  assert.deepEqual(service.all(), []);
  await service.stop();
});

test('only the drop of an index may use the disk space that is reserved for changes that free space', async () => {
  const store = new MemoryConfigStore();
  const used: boolean[] = [];
  const put = store.put.bind(store);
  store.put = async <T>(key: string, value: T, expected: number, options?: ChangeOptions) => {
    used.push(options?.freesSpace === true);
    return await put(key, value, expected);
  };
  const service = serviceOn(store, oneBucket);
  await service.start();
  const { keyspace } = anIndex('a');
  await service.create(anIndex('a'));
  await service.build(keyspace, ['a']);
  await service.drop(keyspace, 'a');
  assert.deepEqual(used, [false, false, true]);
  await service.stop();
});

test('fields that a newer node stored stay when indexes are changed', async () => {
  const store = new MemoryConfigStore();
  await store.put(indexesKey('b'), { ...noIndexes, later: 'a part' }, 0);
  const service = serviceOn(store, oneBucket);
  await service.start();
  const { keyspace } = anIndex('a');
  await service.create(anIndex('a'));
  await service.build(keyspace, ['a']);
  await service.drop(keyspace, 'a');
  assert.deepEqual((await store.get(indexesKey('b')))?.value, { byId: {}, later: 'a part' });
  await service.stop();
});
