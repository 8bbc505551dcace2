// The options of INFER, over a datastore in memory.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contextOf, prepareOn, query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import { memoryQuotaExceeded } from '../../../test/support/sql-errors.ts';
import { Inference, inferOptions } from '../functions/inferred-schema.ts';
import { jsonText } from '../values/json-text.ts';
import type { Value } from '../values/value.ts';

interface Flavor {
  readonly '#docs': number;
  readonly properties: Record<string, { '#docs': number; properties?: object; samples: unknown[] }>;
}

function storeOf(documents: readonly Value[]): MemoryDatastore {
  const datastore = new MemoryDatastore();
  const keyspace = datastore.add('t');
  for (const [at, document] of documents.entries()) datastore.put(keyspace, `t${at}`, document);
  return datastore;
}

/** Each look at the clock takes `tickMs`. */
async function infer(documents: readonly Value[], options: object, tickMs = 0, memoryQuotaBytes = 0) {
  const datastore = storeOf(documents);
  let nowMs = 0;
  const monotonicMs = () => (nowMs += tickMs);
  const prepared = prepareOn(datastore, `INFER t WITH ${JSON.stringify(options)}`);
  const execution = prepared.program.run(prepared, {
    ...contextOf(datastore, { memoryQuotaBytes }),
    monotonicMs,
  });
  const rows: Value[] = [];
  for await (const batch of execution.rows) rows.push(...batch);
  const flavors = JSON.parse(jsonText(rows[0])) as Flavor[];
  const warnings = execution.outcome.warnings.map((warning) => {
    const { code, cause } = warning as Error & { code: number };
    return { code, cause };
  });
  return { flavors, warnings, seen: flavors.reduce((sum, flavor) => sum + flavor['#docs'], 0) };
}

const plain = Array.from({ length: 1000 }, (_, at) => ({ a: at, text: `${'x'.repeat(1000)}${at}` }));

test('infer_timeout ends the sample, with a warning', async () => {
  const all = await infer(plain, {}, 1);
  assert.deepEqual([all.seen, all.warnings], [1000, []]);
  const short = await infer(plain, { infer_timeout: 5 }, 1000);
  assert.deepEqual(short.warnings, [{ code: 7012, cause: { infer_timeout: 5 } }]);
  assert.equal(short.seen, 600);
  const none = await infer(plain, { infer_timeout: 0 }, 1000);
  assert.equal(none.seen, 100);
});

test('the documents of the sample count towards the memory quota', async () => {
  await assert.rejects(infer(plain, {}, 0, 500_000), memoryQuotaExceeded);
  assert.equal((await infer(plain, { sample_size: 400 }, 0, 500_000)).seen, 400);
  assert.equal((await infer(plain, { sample_size: 5000 })).seen, 1000);
});

test('max_schema_MB ends the inference, with a warning', async () => {
  const options = { num_sample_values: 1000 };
  const all = await infer(plain, options);
  assert.deepEqual([all.seen, all.warnings], [1000, []]);
  const small = await infer(plain, { ...options, max_schema_MB: 1 });
  assert.deepEqual(small.warnings, [{ code: 7013, cause: { max_schema_MB: 1 } }]);
  assert.ok(small.seen > 400 && small.seen < 500, `${small.seen} documents`);
  const [value] = await query(
    storeOf([]),
    `SELECT RAW INFER_VALUE(ARRAY {"a": x} FOR x IN ARRAY_RANGE(0, 9) END, {"max_schema_MB": 0})`,
  );
  assert.equal((value as Flavor[])[0]?.['#docs'], 1);
});

test('INFER describes an object with more than dictionary_threshold members of one schema as a dictionary', async () => {
  const name = 'Dictionary(string-to-Object)';
  const scores = (count: number, extra = {}) => ({
    scores: {
      ...Object.fromEntries(Array.from({ length: count }, (_, at) => [`id${at}`, { n: at }])),
      ...extra,
    },
  });
  const namesOf = async (document: Value, options: object = {}) => {
    const { flavors } = await infer([document], options);
    return Object.keys(flavors[0]?.properties['scores']?.properties ?? {});
  };
  assert.deepEqual(await namesOf(scores(11)), [name]);
  assert.equal((await namesOf(scores(10))).length, 10);
  assert.deepEqual(await namesOf(scores(10), { dictionary_threshold: 9 }), [name]);
  assert.equal((await namesOf(scores(11), { dictionary_threshold: 11 })).length, 11);
  assert.equal((await namesOf(scores(11, { other: { m: 1 } }))).length, 12);
  assert.equal((await namesOf(scores(11, { other: { n: 'text' } }))).length, 12);
  assert.equal((await namesOf(scores(11, { other: 1 }))).length, 12);
  const { flavors } = await infer([scores(11)], { num_sample_values: 3 });
  const all = flavors[0]?.properties['scores']?.properties as Flavor['properties'];
  assert.deepEqual(Object.keys(all[name]?.properties ?? {}), ['n']);
  assert.deepEqual(all[name]?.samples, [{ n: 0 }, { n: 1 }, { n: 2 }]);
});

test('options that 7.1 does not have are refused', async () => {
  for (const option of ['max_nesting_depth', 'array_sample_size', 'toString'])
    await assert.rejects(infer(plain, { [option]: 1 }), { code: 7000 });
});

test('a large document is added in steps, with the result of one call', () => {
  const list = Array.from({ length: 20_000 }, (_, id) => ({ id, tags: ['a', id], [`m${id % 5}`]: null }));
  const documents = [
    { list, nested: { more: [list, 'x'.repeat(200_000)] }, a: 1 },
    { list: [1], a: 'b' },
    [list],
    5,
  ];
  const options = inferOptions({ num_sample_values: 3 });
  const [whole, stepped] = [new Inference(options), new Inference(options)];
  let steps = 0;
  for (const document of documents as Value[]) {
    whole.add(document);
    for (const _ of stepped.addInSteps(document)) steps++;
  }
  assert.ok(jsonText(stepped.rows()) === jsonText(whole.rows()));
  assert.equal(stepped.isTooLarge, whole.isTooLarge);
  assert.ok(steps > 200, `${steps} steps`);
});

test('INFER yields to other requests within a large document', async () => {
  const datastore = storeOf([{ list: Array.from({ length: 50_000 }, (_, id) => ({ id })) }]);
  const prepared = prepareOn(datastore, 'INFER t');
  const add = Inference.prototype.addInSteps;
  let pauses = 0;
  let isAdding = false;
  let nowMs = 0;
  Inference.prototype.addInSteps = function* counted(document) {
    isAdding = true;
    yield* add.call(this, document);
    isAdding = false;
  };
  try {
    const context = {
      ...contextOf(datastore),
      monotonicMs: () => (nowMs += 10),
      pause: async () => void (isAdding && pauses++),
    };
    for await (const _ of prepared.program.run(prepared, context).rows);
  } finally {
    Inference.prototype.addInSteps = add;
  }
  assert.ok(pauses > 100, `${pauses} pauses`);
});

test('INFER_VALUE yields to other requests between many values', async () => {
  const datastore = new MemoryDatastore();
  const prepared = prepareOn(datastore, 'SELECT RAW INFER_VALUE($values)');
  const values = Array.from({ length: 1_000 }, (_, at) => ({ [`k${at}`]: at })) as unknown as Value;
  let nowMs = 0;
  let pauses = 0;
  const context = {
    ...contextOf(datastore, { named: new Map([['values', values]]) }),
    monotonicMs: () => (nowMs += 10),
    pause: async () => void pauses++,
  };
  for await (const _ of prepared.program.run(prepared, context).rows);
  assert.ok(pauses > 900, `${pauses} pauses`);
});

test('an object belongs to the first flavor that shares enough names with it', () => {
  const names = [['a', 'b'], ['c', 'd'], ['b', 'c'], ['a'], ['d', 'e', 'f'], [], ['a', 'c'], ['f', 'g', 'a']];
  for (const similarity of [0, 0.3, 0.5, 0.6, 1, 1.5]) {
    const flavors: { names: Set<string>; count: number }[] = [];
    const inference = new Inference(inferOptions({ similarity_metric: similarity } as unknown as Value));
    for (const own of [...names, ...names.toReversed()]) {
      inference.add(Object.fromEntries(own.map((name) => [name, 1])) as unknown as Value);
      const shares = ({ names: known }: { names: Set<string> }): number =>
        known.size + own.length === 0
          ? 1
          : own.filter((name) => known.has(name)).length / Math.max(1, Math.min(known.size, own.length));
      let flavor = flavors.find((each) => shares(each) >= similarity);
      if (!flavor) flavors.push((flavor = { names: new Set(), count: 0 }));
      flavor.count++;
      for (const name of own) flavor.names.add(name);
    }
    const rows = JSON.parse(jsonText(inference.rows())) as { '#docs': number }[];
    const counts = flavors.map(({ count }) => count).sort((a, b) => b - a);
    assert.deepEqual(
      rows.map((row) => row['#docs']),
      counts,
      `similarity ${similarity}`,
    );
  }
});
