// Scans while the files of their indexes are replaced.
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, before, beforeEach, test } from 'node:test';
import type { BucketClient } from '#client/bucket-client.ts';
import { realClock } from '#ports/clock.ts';
import type { IndexDefinition, IndexScan } from '#sqlpp/datastore/indexes.ts';
import { startService } from '../../../test/support/data-service.ts';
import { aScan } from '../../../test/support/index-scan.ts';
import { TestIndexes } from '../../../test/support/index-service.ts';
import { aDefinition } from '../../../test/support/simple-index-language.ts';
import { storing } from '../../../test/support/storing.ts';
import { bucketClient } from '../../../test/support/wire-clients.ts';
import { IndexCatalog } from '../scan/index-catalog.ts';
import { IndexScans } from '../scan/index-scans.ts';

/** Id of the collection `orders`. */
const orders = 8;

let service: Awaited<ReturnType<typeof startService>>;
let indexes: TestIndexes;
let client: BucketClient;
let catalog: IndexCatalog;
let scans: IndexScans;
let byN: IndexDefinition;

before(async () => {
  service = await startService();
  indexes = new TestIndexes(service.port);
  client = await bucketClient(service.port);
});
after(async () => {
  client?.close();
  await indexes?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
});

beforeEach(async () => {
  byN = aDefinition(['`n`']);
  await store('a', 1);
  await indexes.want(byN);
  await indexes.online(byN);
  await indexes.caughtUp(client, byN);
  catalog = new IndexCatalog();
  scans = new IndexScans({
    catalog,
    readers: indexes.readers,
    clock: realClock,
    directions: () => [{ isDescending: false }],
    damaged: (_, reason) => assert.fail(reason),
  });
  report();
});

test('a scan after a restart that replaced an unusable file reads the new file', async () => {
  assert.deepEqual(await scanned(), ['a']);
  await indexes.restart(() => {
    const db = new DatabaseSync(indexes.fileOf(byN));
    db.exec('pragma user_version = 99');
    db.close();
  });
  await store('b', 2);
  await indexes.online(byN);
  await indexes.caughtUp(client, byN);
  report();
  assert.deepEqual(await scanned(), ['a', 'b']);
});

test('scans wait for a replaced file to be built, even before its state is reported', async () => {
  await indexes.service.replaceFile(byN.keyspace.bucketUuid, byN.id);
  assert.equal(scans.scanNow(scan()), 'waits');
  const [rows, manyRows] = [scanned(), scanned({ hasManyRows: true })];
  await indexes.online(byN);
  report();
  assert.deepEqual([(await rows)[0], (await manyRows)[0]], ['a', 'a']);
});

const store = (key: string, n: number) => client.storeMany(orders, [storing(key, JSON.stringify({ n }))]);

/** The query thread learns the state of the index. */
const report = () => catalog.set([{ definition: byN, report: indexes.reportOf(byN) }]);

const scan = (more: Partial<IndexScan> = {}): IndexScan => aScan({ index: byN, ...more });

async function scanned(more: Partial<IndexScan> = {}): Promise<string[]> {
  const ids: string[] = [];
  for await (const rows of scans.scan(scan(more))) ids.push(...rows.map(({ id }) => id));
  return ids;
}
