// `kill -9` of the index process at random moments of builds and changes: the next process must complete the indexes correctly.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { StoreRequest } from '#client/bucket-client.ts';
import type { IndexDefinition } from '#sqlpp/datastore/indexes.ts';
import { startService } from '../../../test/support/data-service.ts';
import { TestIndexes } from '../../../test/support/index-service.ts';
import { aSeed } from '../../../test/support/random.ts';
import { aDefinition } from '../../../test/support/simple-index-language.ts';
import { bucketClient } from '../../../test/support/wire-clients.ts';

/** Id of the collection `orders`. */
const orders = 8;
const kills = Number(process.env.RUNS ?? 5);
const documents = 20_000;

test('an index whose process is killed repeatedly equals a newly built index', async (t) => {
  const random = aSeed(t);
  await using service = await startService();
  await using indexes = new TestIndexes(service.port);
  const client = await bucketClient(service.port);
  const store = (from: number, to: number, add: number) =>
    client.storeMany(
      orders,
      Array.from({ length: to - from }, (_, at): StoreRequest => {
        // Multiplied by a prime, so that successive documents have distant keys.
        const n = ((from + at) * 7_919 + add) % 1_000;
        const value = Buffer.from(JSON.stringify({ n, t: [n % 3, n % 5] }));
        return { kind: 'set', key: `document ${from + at}`, value, cas: 0n, expiry: 0 };
      }),
    );
  for (let from = 0; from < documents; from += 2_000) await store(from, from + 2_000, 0);
  const definitions = [
    aDefinition(['`n`']),
    aDefinition([{ expression: '`t`', array: 'distinct' }]),
    aDefinition([]),
  ];
  for (let kill = 0; kill < kills; kill++) {
    const child = spawn(process.execPath, [
      new URL('../../../test/support/index-child.ts', import.meta.url).pathname,
      String(service.port),
      indexes.folder,
      JSON.stringify(definitions),
    ]);
    await once(child.stdout, 'data');
    const changes = store(kill * 1_000, kill * 1_000 + 3_000, kill + 1);
    await wait(random(600));
    child.kill('SIGKILL');
    await once(child, 'exit');
    await changes;
  }
  const rebuilt = definitions.map((definition) => ({ ...definition, id: `f${definition.id.slice(1)}` }));
  await indexes.want(...definitions, ...rebuilt);
  for (const definition of [...definitions, ...rebuilt]) await indexes.caughtUp(client, definition);
  for (const [at, definition] of definitions.entries()) {
    const rows = indexes.rowsOf(definition);
    assert.ok(rows.length >= documents);
    assert.deepEqual(rows, indexes.rowsOf(rebuilt[at] as IndexDefinition));
    assert.equal(indexes.reportOf(definition)?.rows, rows.length);
  }
  client.close();
});
