// A full disk, damage found while the service runs, and expiring documents.
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { StoreRequest } from '#client/bucket-client.ts';
import { startService } from '../../../test/support/data-service.ts';
import { TestIndexes } from '../../../test/support/index-service.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { aDefinition } from '../../../test/support/simple-index-language.ts';
import { storing } from '../../../test/support/storing.ts';
import { bucketClient } from '../../../test/support/wire-clients.ts';
import type { IndexFile, IndexStore } from '../store/index-store.ts';

/** Ids of collections. */
const orders = 8;
const carts = 9;
/** Result codes of SQLite. */
const diskFull = 13;
const corrupt = 11;

/** Wraps index files; their commits throw while a fault is set, `corrupt` only one commit. */
class Faults {
  errcode: number | null = null;
  thrown = 0;
  closed = 0;

  wrap(store: IndexStore): IndexStore {
    return {
      open: (identity) => this.wrapFile(store.open(identity)),
      remove: (bucketUuid, indexId) => store.remove(bucketUuid, indexId),
      list: () => store.list(),
    };
  }

  private wrapFile(file: IndexFile): IndexFile {
    const commit = file.commit.bind(file);
    file.commit = (documents, positions) => {
      if (this.errcode === null) return commit(documents, positions);
      this.thrown++;
      const { errcode } = this;
      if (errcode === corrupt) this.errcode = null;
      throw Object.assign(new Error(`fault ${errcode}`), { errcode });
    };
    const close = file.close.bind(file);
    file.close = () => {
      this.closed++;
      close();
    };
    return file;
  }
}

const writing = (key: string, n: number, expiry = 0) => storing(key, JSON.stringify({ n }), { expiry });

test('the service reports a full disk, and indexes everything once there is space', async () => {
  await using service = await startService();
  const faults = new Faults();
  await using indexes = new TestIndexes(service.port, (store) => faults.wrap(store));
  const client = await bucketClient(service.port);
  const byN = aDefinition(['`n`']);
  await indexes.want(byN);
  await indexes.online(byN);
  faults.errcode = diskFull;
  await client.storeMany(orders, [writing('a', 1)]);
  await eventually(() => assert.match(indexes.reportOf(byN)?.message ?? '', /fault 13/));
  await client.storeMany(
    orders,
    Array.from({ length: 500 }, (_, n) => writing(`d${n}`, n)),
  );
  // Scans continue, and written rows are not lost.
  assert.equal(indexes.reportOf(byN)?.state, 'online');
  faults.errcode = null;
  await indexes.caughtUp(client, byN);
  assert.equal(indexes.reportOf(byN)?.rows, 501);
  assert.equal(indexes.reportOf(byN)?.message, undefined);
  client.close();
});

test('a service that stops closes all its files, even if the last positions of one cannot be written', async () => {
  await using service = await startService();
  const faults = new Faults();
  await using indexes = new TestIndexes(service.port, (store) => faults.wrap(store));
  const client = await bucketClient(service.port);
  const [first, second] = [aDefinition(['`m`']), aDefinition(['`o`'])];
  await client.storeMany(orders, [writing('a', 1)]);
  await indexes.want(first, second);
  await indexes.online(first, second);
  // A change in another collection moves a position without a commit.
  await client.storeMany(carts, [writing('elsewhere', 1)]);
  for (const index of [first, second]) await indexes.caughtUp(client, index, carts);
  faults.errcode = diskFull;
  await indexes.service.stop();
  assert.deepEqual([faults.thrown, faults.closed], [2, 2]);
  client.close();
});

test('the service rebuilds a file that is found damaged', async () => {
  await using service = await startService();
  const faults = new Faults();
  await using indexes = new TestIndexes(service.port, (store) => faults.wrap(store));
  const client = await bucketClient(service.port);
  const byN = aDefinition(['`n`']);
  await client.storeMany(
    orders,
    Array.from({ length: 300 }, (_, n) => writing(`d${n}`, n)),
  );
  await indexes.want(byN);
  await indexes.online(byN);
  const before = indexes.reportOf(byN)?.generation;
  faults.errcode = corrupt;
  await client.storeMany(orders, [writing('last', 1)]);
  await eventually(() => assert.notEqual(indexes.reportOf(byN)?.generation, before));
  await indexes.caughtUp(client, byN);
  assert.deepEqual([faults.thrown, indexes.reportOf(byN)?.rows], [1, 301]);
  client.close();
});

test('damage in a file that is too large to check when it is opened is found while the index is used', async () => {
  await using service = await startService();
  await using indexes = new TestIndexes(service.port);
  const client = await bucketClient(service.port);
  const [byN, primary] = [aDefinition(['`n`']), aDefinition([], { isPrimary: true })];
  await client.storeMany(
    orders,
    Array.from({ length: 2_500 }, (_, n) => writing(`d${n}`, n)),
  );
  await indexes.want(byN, primary);
  await indexes.online(byN, primary);
  indexes.fileOptions = { checkedOnOpenRowsMax: 0 };
  // The ids in hexadecimal digits: d2499, which becomes d2.
  for (const [definition, change] of [
    [byN, "update back set k = x'0102' where id = x'6432343939'"],
    [primary, "update entry set id = x'6432' where id = x'6432343939'"],
  ] as const) {
    await indexes.restart(() => {
      const db = new DatabaseSync(indexes.fileOf(definition));
      assert.equal(db.prepare(change).run().changes, 1);
      db.close();
    });
    const before = indexes.reportOf(definition)?.generation;
    await eventually(() => assert.notEqual(indexes.reportOf(definition)?.generation, before));
    await indexes.caughtUp(client, definition);
    assert.equal(indexes.reportOf(definition)?.rows, 2_500);
  }
  client.close();
});

test('the service says how many changes had keys above the limits, even after their documents are gone', async () => {
  await using service = await startService();
  await using indexes = new TestIndexes(service.port);
  const client = await bucketClient(service.port);
  const byN = aDefinition(['`n`']);
  await indexes.want(byN);
  await indexes.online(byN);
  const long: StoreRequest = { ...writing('long', 1), value: Buffer.from(`{"n":"${'x'.repeat(40_000)}"}`) };
  const messages: (string | undefined)[] = [];
  for (const request of [long, long, { ...long, kind: 'remove' as const, value: Buffer.alloc(0) }]) {
    await client.storeMany(orders, [request]);
    await indexes.caughtUp(client, byN);
    messages.push(indexes.reportOf(byN)?.message);
  }
  const two = 'since the start, 2 changes have left their documents out: keys above the limits';
  assert.deepEqual(messages, [
    'since the start, 1 change has left its document out: keys above the limits',
    two,
    two,
  ]);
  client.close();
});

test('an index loses the rows of expired documents', async () => {
  await using service = await startService();
  await using indexes = new TestIndexes(service.port);
  const client = await bucketClient(service.port);
  const byN = aDefinition(['`n`']);
  await indexes.want(byN);
  await client.storeMany(orders, [writing('stays', 1), writing('goes', 2, 1)]);
  await indexes.online(byN);
  await eventually(() => assert.equal(indexes.reportOf(byN)?.rows, 2));
  await eventually(async () => {
    // Reading an expired document deletes it.
    await client.getMany(orders, ['goes']);
    assert.equal(indexes.reportOf(byN)?.rows, 1);
  });
  client.close();
});
