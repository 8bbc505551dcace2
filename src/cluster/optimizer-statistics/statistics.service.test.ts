import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredStatistics } from '#query/query.contract.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { StatisticsService, statisticsLimits } from './statistics.service.ts';
import { statisticsKey, statisticsPrefix } from './statistics-state.ts';

const collections = [{ uid: '0' }, { uid: 'a' }, { uid: 'b' }];

function aService(store = new MemoryConfigStore()) {
  const view = {
    buckets: { byUuid: { u: { state: 'ready' } } },
    manifest: () => ({ scopes: [{ collections }] }),
  } as never;
  return { store, service: new StatisticsService({ store, view }) };
}

const of = (expression: string, bound = ''): StoredStatistics['expressions'][number] => ({
  expression,
  documents: 1,
  sampled: 1,
  perDocument: 1,
  distinct: 1,
  resolution: 1,
  gatheredMs: 0,
  bins: [{ upTo: bound, share: 1, distinct: 1 }],
});

const storeChange = (collectionId: number, expressions: StoredStatistics['expressions']) =>
  ({ kind: 'store', bucketUuid: 'u', collectionId, expressions }) as const;

const namesIn = (service: StatisticsService) =>
  service
    .all()
    .map(({ collectionId, expressions }) => [collectionId, expressions.map(({ expression }) => expression)]);

test('stores, replaces and deletes by expression, and reports changes of another node', async () => {
  const { store, service } = aService();
  const { service: other } = aService(store);
  await service.start();
  await other.start();
  let reports = 0;
  other.onChange(() => reports++);
  assert.equal(await service.change(storeChange(10, [of('a'), of('b')])), 'done');
  assert.equal(await service.change(storeChange(10, [of('b'), of('c')])), 'done');
  assert.deepEqual(namesIn(service), [[10, ['a', 'b', 'c']]]);
  assert.deepEqual(namesIn(other), namesIn(service));
  assert.equal(reports, 2);
  const target = { kind: 'delete', bucketUuid: 'u', collectionId: 10 } as const;
  assert.equal(await service.change({ ...target, expressions: ['a', 'z'] }), 'done');
  assert.deepEqual(namesIn(service), [[10, ['b', 'c']]]);
  assert.equal(await service.change({ ...target, expressions: null }), 'done');
  assert.deepEqual(namesIn(service), []);
});

test('the statistics service keeps what a newer version stored with the statistics', async () => {
  const { store, service } = aService();
  await service.start();
  const key = statisticsKey('u', 10);
  await store.put(key, { expressions: [of('a')], later: 1 }, 0);
  assert.equal(await service.change(storeChange(10, [of('b')])), 'done');
  const stored = (await store.get<{ later?: number; expressions: unknown[] }>(key))?.value;
  assert.deepEqual([stored?.later, stored?.expressions.length], [1, 2]);
});

test('the statistics service refuses too many statistics, too large ones, and those of a collection that does not exist', async () => {
  const { store, service } = aService();
  await service.start();
  const refusal = async (change: Parameters<StatisticsService['change']>[0]) => {
    const outcome = await service.change(change);
    return typeof outcome === 'string' ? outcome : outcome.refused;
  };
  const many = Array.from({ length: statisticsLimits.expressions + 1 }, (_, at) => of(`f${at}`));
  assert.match(await refusal(storeChange(0, many)), /at most 64 expressions/);
  assert.match(
    await refusal(storeChange(0, [of('a', 'x'.repeat(600_000))])),
    /of a collection take at most 524288/,
  );
  assert.match(await refusal(storeChange(99, [of('a')])), /does not exist/);
  assert.deepEqual(await store.list(statisticsPrefix), [], 'a refused change was written');
  for (let at = 0; at < 9; at++) collections.push({ uid: (32 + at).toString(16) });
  for (let at = 0; at < 8; at++)
    assert.equal(await refusal(storeChange(32 + at, [of('a', 'x'.repeat(500_000))])), 'done');
  assert.match(
    await refusal(storeChange(40, [of('a', 'x'.repeat(500_000))])),
    /of all collections take at most/,
  );
  collections.splice(3);
});

test('the statistics service removes the statistics of deleted collections', async () => {
  const { store, service } = aService();
  await store.put(statisticsKey('u', 77), { expressions: [of('a')] }, 0);
  await store.put(statisticsKey('gone', 0), { expressions: [of('a')] }, 0);
  await service.start();
  assert.deepEqual(namesIn(service), []);
  await service.change(storeChange(10, [of('a')]));
  assert.deepEqual(
    (await store.list(statisticsPrefix)).map(({ key }) => key),
    [statisticsKey('u', 10)],
  );
});

test('the statistics service keeps statistics that another node stores before those of this one are acknowledged', async () => {
  const { store, service } = aService();
  await service.start();
  const put = store.put.bind(store);
  store.put = async <T>(key: string, value: T, expected: number) => {
    const revision = await put(key, value, expected);
    if (revision !== null) await put(key, { expressions: [of('a'), of('b')] }, revision);
    return revision;
  };
  assert.equal(await service.change(storeChange(10, [of('a')])), 'done');
  assert.deepEqual(namesIn(service), [[10, ['a', 'b']]]);
});
