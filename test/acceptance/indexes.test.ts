// The index service over a data service: builds, scans, consistency and errors.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { StoreRequest } from '#client/bucket-client.ts';
import { vbucketOf } from '#client/document-key.ts';
import { keyPartsOf } from '#index/entries/key-parts.ts';
import { IndexHost } from '#index/host/index-host.ts';
import { IndexLinks } from '#index/link/index-links.host.ts';
import { connectIndexes } from '#index/link/linked-indexes.ts';
import { hasIndexFiles } from '#index/store/index-files.adapter.ts';
import { IndexFolderReaders } from '#index/store/index-folder.adapter.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import type { Consistency, IndexDefinition, IndexScan } from '#sqlpp/datastore/indexes.ts';
import { SqlError } from '#sqlpp/errors/sql-error.ts';
import type { Value } from '#sqlpp/values/value.ts';
import { IndexesService } from '../../src/cluster/indexes/indexes.service.ts';
import { startService } from '../support/data-service.ts';
import { eventually } from '../support/node-process.ts';
import { aDefinition } from '../support/simple-index-language.ts';
import { addressOf, adminAccount, bucketClient } from '../support/wire-clients.ts';

/** Id of the collection `orders`. */
const orders = 8;
/** Codes of errors. */
const code = { indexExists: 4300, scanTimeout: 12015, indexNotFound: 12016 };
const notBounded: Consistency = { kind: 'not_bounded' };

async function setUp() {
  const service = await startService();
  const folder = mkdtempSync(join(tmpdir(), 'divan-index-host-'));
  const data = { folder, address: addressOf(service.port), account: adminAccount };
  const host = new IndexHost({
    data: async () => data,
    hasFiles: () => false,
    clock: realClock,
    log: silentLog,
  });
  const manifest = { scopes: [{ collections: [{ uid: '8' }, { uid: '9' }] }] };
  const view = {
    buckets: { byUuid: { b0: { state: 'ready', type: 'native' } } },
    cluster: { nodes: [], quotas: { indexMemoryQuota: 512 } },
    self: { services: null, paths: { index: '/data', data: '/data' } },
    manifest: () => manifest,
    setting: <T>(_name: string, defaults: T): T => defaults,
    onChange: () => ({ stop: () => {} }),
  };
  const definitions = new IndexesService({
    store: new MemoryConfigStore(),
    view: view as never,
    indexAdmin: host,
    random: realRandom,
    log: silentLog,
  });
  await definitions.start();
  definitions.follow();
  const links = new IndexLinks({
    indexNodes: { readyOnOtherNodes: async () => {}, goneFromOtherNodes: async () => {} },
    definitions,
    indexAdmin: host,
    damaged: (bucketUuid, id) => host.replaceFile(bucketUuid, id),
  });
  const linked = await connectIndexes({
    port: links.connect(),
    readers: new IndexFolderReaders(folder),
    clock: realClock,
    directions: keyPartsOf,
  });
  const client = await bucketClient(service.port);
  return {
    ...linked,
    host,
    client,
    definitions,
    async store(documents: Record<string, Value>): Promise<Consistency> {
      const requests = Object.entries(documents).map(
        ([key, value]): StoreRequest => ({
          kind: 'set',
          key,
          value: Buffer.from(JSON.stringify(value)),
          cas: 0n,
          expiry: 0,
        }),
      );
      const replies = await client.storeMany(orders, requests);
      const tokens = requests.map(({ key }, at) => [vbucketOf(key), replies[at]?.token] as const);
      return {
        kind: 'at',
        vector: new Map(tokens.map(([vb, token]) => [vb, { seqno: Number(token?.seqno), uuid: 0n }])),
      };
    },
    async [Symbol.asyncDispose]() {
      client.close();
      linked.close();
      links.stop();
      await host.stop();
      await service[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

type Setup = Awaited<ReturnType<typeof setUp>>;

function scanOf(index: IndexDefinition, changes: Partial<IndexScan> = {}): IndexScan {
  return {
    index,
    spans: [],
    isReverse: false,
    keys: [0],
    isDistinct: false,
    offset: 0,
    limit: Number.POSITIVE_INFINITY,
    consistency: notBounded,
    waitMs: 0,
    signal: new AbortController().signal,
    ...changes,
  };
}

async function rowsOf({ indexes }: Setup, scan: IndexScan): Promise<[string, ...Value[]][]> {
  const rows: [string, ...Value[]][] = [];
  for await (const batch of indexes.scan(scan)) for (const { id, keys } of batch) rows.push([id, ...keys]);
  return rows;
}

const create = async (
  setup: Setup,
  definition: IndexDefinition,
  ifNotExists = false,
): Promise<IndexDefinition> => {
  const { signal } = new AbortController();
  await setup.admin.create(definition, { ifNotExists, signal });
  return setup.indexes
    .indexesOf(definition.keyspace)
    .find((status) => status.definition.name === definition.name)?.definition as IndexDefinition;
};

test('files of indexes that were dropped while the node was down are removed, also if no index is left', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-index-host-'));
  const none = { indexes: [], memoryQuotaBytes: 512 << 20, place: null };
  const startedHost = async () => {
    const host = new IndexHost({
      data: async () => ({ folder, address: addressOf(1), account: adminAccount }),
      hasFiles: () => hasIndexFiles(folder),
      clock: realClock,
      log: silentLog,
    });
    host.apply(none);
    await eventually(() => assert.equal(hasIndexFiles(folder), false));
    return host;
  };
  mkdirSync(join(folder, 'b0'));
  writeFileSync(join(folder, 'b0', '1.index'), 'left');
  writeFileSync(join(folder, 'b0', '1.index-wal'), 'left');
  const removing = await startedHost();
  assert.deepEqual(readdirSync(folder), []);
  const idle = await startedHost();
  assert.equal(idle.isRunning, false);
  await idle.stop();
  // The thread that removed files still applies a place that is chosen afterwards.
  const place = `${folder}-place`;
  removing.apply({ ...none, place });
  await eventually(() => assert.equal(readlinkSync(folder), place));
  await removing.stop();
  for (const path of [folder, place]) rmSync(path, { recursive: true });
});

test('an index is online when its creation is answered, and scans see earlier writes', async () => {
  await using setup = await setUp();
  await setup.store(
    Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`d${n}`, { n, t: [n % 3, 'x'] }])),
  );
  assert.equal(setup.host.isRunning, false, 'the thread runs without an index');
  const byN = await create(setup, aDefinition(['`n`']));
  assert.deepEqual(
    setup.indexes.indexesOf(byN.keyspace).map(({ state, progress }) => [state, progress]),
    [['online', 100]],
  );
  const range = {
    ranges: [{ low: { value: 10, isInclusive: true }, high: { value: 12, isInclusive: false } }],
  };
  assert.deepEqual(await rowsOf(setup, scanOf(byN, { spans: [range] })), [
    ['d10', 10],
    ['d11', 11],
  ]);
  assert.deepEqual(await rowsOf(setup, scanOf(byN, { isReverse: true, offset: 1, limit: 2 })), [
    ['d1998', 1998],
    ['d1997', 1997],
  ]);
  for (let round = 0; round < 20; round++) {
    const consistency = await setup.store({ d5: { n: 10_000 + round } });
    const newest = await rowsOf(setup, scanOf(byN, { isReverse: true, limit: 1, consistency }));
    assert.deepEqual(newest, [['d5', 10_000 + round]]);
  }
  assert.equal((await setup.indexes.figures(byN)).rows, 2_000);
});

test('array keys have a row for each element, and a distinct scan returns each document once', async () => {
  await using setup = await setUp();
  await setup.store({ a: { t: [1, 2, 2] }, b: { t: [2, 3] }, c: { t: 'no array' }, d: { t: [] }, e: {} });
  const distinct = await create(setup, aDefinition([{ expression: '(distinct `t`)', array: 'distinct' }]));
  const all = await create(setup, aDefinition([{ expression: '(all `t`)', array: 'all' }]));
  const twos = [
    { ranges: [{ low: { value: 2, isInclusive: true }, high: { value: 2, isInclusive: true } }] },
  ];
  assert.deepEqual(await rowsOf(setup, scanOf(distinct, { spans: twos })), [
    ['a', 2],
    ['b', 2],
  ]);
  assert.deepEqual(await rowsOf(setup, scanOf(all, { spans: twos })), [
    ['a', 2],
    ['b', 2],
    ['a', 2],
  ]);
  const ids = (await rowsOf(setup, scanOf(distinct, { isDistinct: true, keys: [] }))).map(([id]) => id);
  assert.deepEqual(ids.sort(), ['a', 'b', 'c']);
});

test('index names are unique per collection, and errors have their published codes', async () => {
  await using setup = await setUp();
  const byN = aDefinition(['`n`'], { name: 'by_n' });
  await create(setup, byN);
  await assert.rejects(create(setup, byN), hasCode(code.indexExists));
  await create(setup, byN, true);
  await create(setup, { ...byN, keyspace: { ...byN.keyspace, collectionId: 9 } });
  await assert.rejects(create(setup, aDefinition(['`n`'], { replicas: 1 })), /not enough indexer nodes/);
  await assert.rejects(
    setup.admin.drop(byN.keyspace, 'other', { ifExists: false }),
    hasCode(code.indexNotFound),
  );
  await setup.admin.drop(byN.keyspace, 'other', { ifExists: true });
  await setup.admin.drop(byN.keyspace, 'by_n', { ifExists: false });
  assert.deepEqual(setup.indexes.indexesOf(byN.keyspace), []);
});

test('a deferred index waits for its build', async () => {
  await using setup = await setUp();
  await setup.store({ a: { n: 1 } });
  const deferred = await create(setup, aDefinition(['`n`'], { isDeferred: true }));
  assert.equal(setup.indexes.indexesOf(deferred.keyspace)[0]?.state, 'deferred');
  const { signal } = new AbortController();
  await assert.rejects(
    setup.admin.build(deferred.keyspace, ['nothing'], signal),
    hasCode(code.indexNotFound),
  );
  await setup.admin.build(deferred.keyspace, [deferred.name], signal);
  assert.deepEqual(await rowsOf(setup, scanOf(deferred)), [['a', 1]]);
});

test('a scan that does not reach its consistency ends at its timeout, or with its statement', async () => {
  await using setup = await setUp();
  const byN = await create(setup, aDefinition(['`n`']));
  const consistency: Consistency = { kind: 'at', vector: new Map([[7, { seqno: 1_000_000, uuid: 0n }]]) };
  await assert.rejects(rowsOf(setup, scanOf(byN, { consistency, waitMs: 30 })), hasCode(code.scanTimeout));
  const stop = new AbortController();
  const scan = rowsOf(setup, scanOf(byN, { consistency, signal: stop.signal }));
  stop.abort(new Error('cancelled'));
  await assert.rejects(scan, /cancelled/);
});

test('dropping an index fails its running scan', async () => {
  await using setup = await setUp();
  await setup.store(Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`d${n}`, { n }])));
  const byN = await create(setup, aDefinition(['`n`']));
  const scan = setup.indexes.scan(scanOf(byN))[Symbol.asyncIterator]();
  await scan.next();
  await setup.admin.drop(byN.keyspace, byN.name, { ifExists: false });
  await assert.rejects(async () => {
    for (;;) if ((await scan.next()).done) return;
  }, hasCode(code.indexNotFound));
});

const hasCode = (expected: number) => (error: unknown) => {
  assert.ok(error instanceof SqlError, String(error));
  assert.equal(error.code, expected);
  return true;
};
