import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BucketClient, StoreRequest } from '#client/bucket-client.ts';
import type { IndexDefinition } from '#sqlpp/datastore/indexes.ts';
import type { Value } from '#sqlpp/values/value.ts';
import { aBucket, aDesired, startService } from '../../../test/support/data-service.ts';
import { TestIndexes } from '../../../test/support/index-service.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { aDefinition } from '../../../test/support/simple-index-language.ts';
import { storing } from '../../../test/support/storing.ts';
import { bucketClient } from '../../../test/support/wire-clients.ts';
import { IndexProgress } from '../index-progress.ts';
import { KeyReader } from '../keys/key-reader.ts';
import type { IndexStore } from '../store/index-store.ts';

/** Ids of collections. */
const orders = 8;
const carts = 9;

test('an index has existing and later documents of its collection only', async () => {
  await using service = await startService();
  await using indexes = new TestIndexes(service.port);
  const client = await bucketClient(service.port);
  await store(client, orders, { a: { n: 1 }, b: { n: 2 }, c: { m: 3 } });
  await store(client, carts, { d: { n: 4 } });
  const [byN, primary] = [aDefinition(['`n`']), aDefinition([])];
  await indexes.want(byN, primary);
  await indexes.online(byN, primary);
  assert.deepEqual(rowsOf(indexes, byN), ['1=a', '2=b']);
  assert.deepEqual(rowsOf(indexes, primary), ['"a"=a', '"b"=b', '"c"=c']);
  await store(client, orders, { a: { n: 5 }, c: { n: 0 }, e: { n: 2 } });
  await remove(client, orders, ['b']);
  await eventually(() => assert.deepEqual(rowsOf(indexes, byN), ['0=c', '2=e', '5=a']));
  await eventually(() => assert.equal(rowsOf(indexes, primary).length, 3));
  client.close();
});

test('a change of the wanted indexes that waits for files to close does not undo a later change', async () => {
  await using service = await startService(aDesired({ buckets: [aBucket('b'), aBucket('other')] }));
  await using indexes = new TestIndexes(service.port);
  const first = aDefinition(['`n`']);
  const later = aDefinition(['`m`']);
  const other = aDefinition(['`n`']);
  const ofOther = {
    ...other,
    keyspace: { ...other.keyspace, bucketUuid: 'other', name: { ...other.keyspace.name, bucket: 'other' } },
  };
  await indexes.want(first, ofOther);
  await Promise.all([indexes.want(first), indexes.want(first, later)]);
  assert.notEqual(indexes.reportOf(later), undefined);
});

test('an index that is wanted again while the last indexes of its bucket are removed keeps the file that it then opens', async () => {
  await using service = await startService();
  await using indexes = new TestIndexes(service.port);
  const client = await bucketClient(service.port);
  const byN = aDefinition(['`n`']);
  await store(client, orders, { a: { n: 1 } });
  await indexes.want(byN);
  await indexes.online(byN);
  await Promise.all([indexes.want(), indexes.want(byN)]);
  await indexes.online(byN);
  assert.deepEqual(rowsOf(indexes, byN), ['1=a']);
  client.close();
});

test('a change of the wanted indexes that waits for files to close opens no file after a stop', async () => {
  await using service = await startService();
  let opened = 0;
  const counting = (files: IndexStore): IndexStore => ({
    open: (identity) => {
      opened++;
      return files.open(identity);
    },
    remove: (bucketUuid, id) => files.remove(bucketUuid, id),
    list: () => files.list(),
  });
  await using indexes = new TestIndexes(service.port, counting);
  const byN = aDefinition(['`n`']);
  const other = { ...byN, id: `e${byN.id.slice(1)}`, keyspace: { ...byN.keyspace, bucketUuid: 'ec' } };
  await indexes.want(byN);
  await Promise.all([indexes.want(other), indexes.service.stop()]);
  assert.equal(opened, 1);
});

test('the file of an index is opened without reading the sizes of other files, of which there may be thousands', async () => {
  await using service = await startService();
  let sizesRead = 0;
  const readBeforeOpening: number[] = [];
  const counting = (files: IndexStore): IndexStore => ({
    open: (identity) => {
      readBeforeOpening.push(sizesRead);
      const file = files.open(identity);
      const size = file.bytes.bind(file);
      file.bytes = () => {
        sizesRead++;
        return size();
      };
      return file;
    },
    remove: (bucketUuid, id) => files.remove(bucketUuid, id),
    list: () => files.list(),
  });
  await using indexes = new TestIndexes(service.port, counting);
  await indexes.want(aDefinition(['`n`']), aDefinition(['`m`']), aDefinition(['`o`']));
  assert.deepEqual(readBeforeOpening, [0, 0, 0]);
});

test('an index continues from its position after a restart', async () => {
  await using service = await startService();
  await using indexes = new TestIndexes(service.port);
  const client = await bucketClient(service.port);
  const byN = aDefinition(['`n`']);
  await store(client, orders, { a: { n: 1 }, b: { n: 2 } });
  await indexes.want(byN);
  await indexes.online(byN);
  await indexes.service.stop();
  await store(client, orders, { c: { n: 3 } });
  await remove(client, orders, ['a']);
  await indexes.restart();
  assert.equal(indexes.reportOf(byN)?.state, 'online');
  await eventually(() => assert.deepEqual(rowsOf(indexes, byN), ['2=b', '3=c']));
  assert.ok(
    (indexes.reportOf(byN)?.documentsProcessed ?? 99) <= 2,
    'the index processed indexed changes again',
  );
  client.close();
});

test('new indexes join the stream that the others share and miss no change', async () => {
  await using service = await startService();
  await using indexes = new TestIndexes(service.port);
  const client = await bucketClient(service.port);
  await store(client, orders, Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`d${n}`, { n }])));
  const [first, second, other] = [
    aDefinition(['`n`']),
    aDefinition(['`n`']),
    aDefinition(['`n`'], { collectionId: carts }),
  ];
  await indexes.want(first);
  await indexes.online(first);
  await indexes.want(first, second, other);
  await store(client, orders, Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`e${n}`, { n }])));
  await store(client, carts, { x: { n: 1 } });
  await indexes.online(second, other);
  for (const definition of [first, second])
    await eventually(() => assert.equal(rowsOf(indexes, definition).length, 600));
  await eventually(() => assert.deepEqual(rowsOf(indexes, other), ['1=x']));
  // Finally one connection serves all of them.
  await eventually(async () => assert.equal(await streamConnections(client), 1));
  await store(client, orders, { last: { n: -1 } });
  for (const definition of [first, second])
    await eventually(() => assert.equal(rowsOf(indexes, definition)[0], '-1=last'));
  client.close();
});

test('the file of a deferred index is created by its build, and removed with the index', async () => {
  await using service = await startService();
  await using indexes = new TestIndexes(service.port);
  const client = await bucketClient(service.port);
  await store(client, orders, { a: { n: 1 } });
  const deferred = aDefinition(['`n`'], { isDeferred: true });
  await indexes.want(deferred);
  assert.equal(indexes.reportOf(deferred)?.state, 'deferred');
  await indexes.apply([{ definition: deferred, isBuilt: true }]);
  await indexes.online(deferred);
  assert.deepEqual(rowsOf(indexes, deferred), ['1=a']);
  const shared = indexes.reportOf(deferred)?.shared;
  await indexes.want();
  assert.throws(() => rowsOf(indexes, deferred), /does not exist/);
  assert.equal(new IndexProgress(shared).isDropped, true);
  client.close();
});

test('a flush empties indexes, which become complete again without a restart', async () => {
  await using service = await startService();
  await using indexes = new TestIndexes(service.port);
  const client = await bucketClient(service.port);
  await store(client, orders, { a: { n: 1 }, b: { n: 2 } });
  const byN = aDefinition(['`n`']);
  await indexes.want(byN);
  await indexes.online(byN);
  client.close();
  await service.service.apply(aDesired({ buckets: [aBucket('b', { incarnation: 2 })] }));
  const again = await bucketClient(service.port);
  await store(again, orders, { z: { n: 9 } });
  await eventually(() => assert.deepEqual(rowsOf(indexes, byN), ['9=z']));
  await indexes.online(byN);
  again.close();
});

test('a file that a reader reports as unusable is built again', async () => {
  await using service = await startService();
  await using indexes = new TestIndexes(service.port);
  const client = await bucketClient(service.port);
  await store(client, orders, { a: { n: 1 } });
  const byN = aDefinition(['`n`']);
  await indexes.want(byN);
  await indexes.online(byN);
  const shared = indexes.reportOf(byN)?.shared;
  await indexes.service.replaceFile(byN.keyspace.bucketUuid, byN.id);
  await indexes.online(byN);
  assert.equal(new IndexProgress(shared).isDropped, false);
  assert.deepEqual(rowsOf(indexes, byN), ['1=a']);
  client.close();
});

test('the file of a dropped index is removed before it is closed, and not written again', async () => {
  await using service = await startService();
  const { byN, calls, client, indexes } = await recordedIndex(service.port);
  await using _ = indexes;
  await store(client, orders, { b: { m: 1 } });
  await indexes.caughtUp(client, byN);
  calls.length = 0;
  await indexes.want();
  assert.deepEqual(calls, ['remove', 'close']);
  client.close();
});

test('a stop removes the files of indexes that were dropped just before it, and does not write them', async () => {
  await using service = await startService();
  const { calls, client, indexes } = await recordedIndex(service.port);
  await using _ = indexes;
  calls.length = 0;
  await Promise.all([indexes.want(), indexes.service.stop()]);
  assert.deepEqual(calls, ['remove', 'close']);
  client.close();
});

/** An index that is online and has a document; `calls` gets what is done with its file. */
async function recordedIndex(port: number) {
  const calls: string[] = [];
  const indexes = new TestIndexes(port, (store) => recorded(store, calls));
  const client = await bucketClient(port);
  const byN = aDefinition(['`n`']);
  await store(client, orders, { a: { n: 1 } });
  await indexes.want(byN);
  await indexes.online(byN);
  return { byN, calls, client, indexes };
}

/** Records the removals of files, and what is done with their writers. */
const recorded = (store: IndexStore, calls: string[]): IndexStore => ({
  open: (identity) => {
    const file = store.open(identity);
    const [commit, close] = [file.commit.bind(file), file.close.bind(file)];
    file.commit = (documents, positions) => {
      calls.push('commit');
      commit(documents, positions);
    };
    file.close = () => {
      calls.push('close');
      close();
    };
    return file;
  },
  remove: (bucketUuid, indexId) => {
    calls.push('remove');
    store.remove(bucketUuid, indexId);
  },
  list: () => store.list(),
});

async function store(
  client: BucketClient,
  collection: number,
  documents: Record<string, Value>,
): Promise<void> {
  const requests = Object.entries(documents).map(([key, value]) => storing(key, JSON.stringify(value)));
  for (const { status } of await client.storeMany(collection, requests)) assert.equal(status, 0);
}

async function remove(client: BucketClient, collection: number, keys: readonly string[]): Promise<void> {
  const requests = keys.map(
    (key): StoreRequest => ({ kind: 'remove', key, value: Buffer.alloc(0), cas: 0n, expiry: 0 }),
  );
  for (const { status } of await client.storeMany(collection, requests)) assert.equal(status, 0);
}

async function streamConnections(client: BucketClient): Promise<number> {
  const stats = await client.stats('dcp');
  return Number(stats.get('ep_dcp_count'));
}

/** The first key of each row and the id of its document. */
const rowsOf = (indexes: TestIndexes, definition: IndexDefinition): string[] =>
  indexes
    .rowsOf(definition)
    .map(({ key, id }) => `${JSON.stringify(new KeyReader().reset(key).read())}=${id}`);
