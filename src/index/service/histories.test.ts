// Random histories of a bucket and the index service: the final index must equal a newly built one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { StoreRequest } from '#client/bucket-client.ts';
import type { IndexDefinition } from '#sqlpp/datastore/indexes.ts';
import { aBucket, aDesired, startService } from '../../../test/support/data-service.ts';
import { TestIndexes } from '../../../test/support/index-service.ts';
import { printedSeed } from '../../../test/support/seed.ts';
import { aDefinition } from '../../../test/support/simple-index-language.ts';
import { storing } from '../../../test/support/storing.ts';
import { bucketClient } from '../../../test/support/wire-clients.ts';

/** Id of the collection `orders`. */
const orders = 8;
const runs = Number(process.env.RUNS ?? 5);

type Step =
  | { kind: 'write'; documents: { key: string; n: number; t: number[] }[] }
  | { kind: 'remove'; keys: string[] }
  | { kind: 'flush' | 'restart' | 'crash' | 'define' | 'wait' };

/** Few ids, so that documents get many versions. */
const keys = fc.constantFrom(...Array.from({ length: 40 }, (_, at) => `document_${at}`));
const steps = fc.array(
  fc.oneof<fc.WeightedArbitrary<Step>[]>(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('write' as const),
        documents: fc.array(
          fc.record({
            key: keys,
            n: fc.integer({ min: -2, max: 9 }),
            t: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 3 }),
          }),
          { minLength: 1, maxLength: 60 },
        ),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('remove' as const), keys: fc.array(keys, { maxLength: 20 }) }),
    },
    ...(['flush', 'restart', 'crash', 'define', 'wait'] as const).map((kind) => ({
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant(kind) }),
    })),
  ),
  { minLength: 3, maxLength: 14 },
);

const newDefinitions = (): IndexDefinition[] => [
  aDefinition(['`n`']),
  aDefinition([]),
  aDefinition([
    { expression: '`t`', array: 'distinct' },
    { expression: '`n`', isDescending: true },
  ]),
  aDefinition([
    { expression: '`n`', includesMissing: true },
    { expression: '`t`', array: 'all' },
  ]),
];

test('an index that followed a random history equals a newly built index', async () => {
  const seed = printedSeed(console.log);
  await fc.assert(
    fc.asyncProperty(steps, (history) => run(history)),
    { numRuns: runs, seed, endOnFailure: true },
  );
});

async function run(history: readonly Step[]): Promise<void> {
  await using service = await startService();
  await using indexes = new TestIndexes(service.port);
  let client = await bucketClient(service.port);
  let definitions = newDefinitions();
  let incarnation = 1;
  await indexes.want(...definitions);
  for (const step of history) {
    if (step.kind === 'write') await client.storeMany(orders, step.documents.map(writing));
    else if (step.kind === 'remove') await client.storeMany(orders, step.keys.map(removing));
    else if (step.kind === 'restart') await indexes.restart();
    else if (step.kind === 'crash') await indexes.crash();
    else if (step.kind === 'wait') await indexes.online(...definitions);
    else if (step.kind === 'define') {
      definitions = [...definitions.slice(1), ...newDefinitions().slice(0, 2)];
      await indexes.want(...definitions);
    } else {
      client.close();
      incarnation++;
      await service.service.apply(aDesired({ buckets: [aBucket('b', { incarnation })] }));
      client = await bucketClient(service.port);
    }
  }
  const rebuilt = definitions.map((definition) => ({ ...definition, id: `f${definition.id.slice(1)}` }));
  await indexes.want(...definitions, ...rebuilt);
  for (const definition of [...definitions, ...rebuilt]) await indexes.caughtUp(client, definition);
  for (const [at, definition] of definitions.entries())
    assert.deepEqual(indexes.rowsOf(definition), indexes.rowsOf(rebuilt[at] as IndexDefinition));
  client.close();
}

/** A negative number omits the field. */
const writing = ({ key, n, t }: { key: string; n: number; t: number[] }) =>
  storing(key, JSON.stringify(n < 0 ? { t } : { n, t }));

const removing = (key: string): StoreRequest => ({
  kind: 'remove',
  key,
  value: Buffer.alloc(0),
  cas: 0n,
  expiry: 0,
});
