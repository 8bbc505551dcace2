// Random documents and statements on a real node: statements over every kind of index return the same rows as without indexes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodeProcess } from '../support/node-process.ts';
import { QueryClient } from '../support/query-client.ts';
import { aSeed } from '../support/random.ts';
import { aDocument, indexes, scalar, sorted, statement } from '../support/random-statements.ts';

const statements = 80;

test('statements have the same rows through indexes of every kind as without indexes', async (t) => {
  const below = aSeed(t);
  const random = (): number => below(1_000_000) / 1_000_000;
  await using node = await NodeProcess.start({ args: ['--services', 'kv,index,n1ql', '--bucket', 'b'] });
  const client = new QueryClient(node.ready.node.query as string);
  const run = (text: string, parameters: object = {}): Promise<unknown[]> =>
    client.rows(text, { query_context: 'default:b.s', ...parameters });
  await run('CREATE SCOPE b.s');
  const documents = {
    t: Array.from({ length: 60 }, (_, at) => ({ k: `t${at}`, v: aDocument(random) })),
    u: Array.from({ length: 25 }, (_, at) => {
      const ref = random() < 0.5 ? `t${below(70)}` : scalar(random);
      return { k: `u${at}`, v: { ...aDocument(random), ref } };
    }),
  };
  for (const [name, all] of Object.entries(documents)) {
    await run(`CREATE COLLECTION b.s.${name}`);
    await run(`UPSERT INTO ${name} (KEY d.k, VALUE d.v) SELECT d FROM $all AS d`, { $all: all });
  }
  const texts = Array.from({ length: statements }, () => statement(random));
  const expected: string[][] = [];
  for (const text of texts) expected.push(sorted(await run(text)));
  // First with half of the indexes, since few indexes and many lead to different plans.
  const half = Math.floor(indexes.length / 2);
  const halves = [indexes.slice(0, half), indexes.slice(half)];
  let scans = 0;
  for (const added of halves) {
    for (const text of added) await run(text);
    for (const [at, text] of texts.entries()) {
      const plan = JSON.stringify(await run(`EXPLAIN ${text}`));
      scans += Number(plan.includes('IndexScan3'));
      const found = sorted(await run(text, { scan_consistency: 'request_plus' }));
      assert.deepEqual(found, expected[at], `${text}\n${plan}`);
    }
  }
  assert.ok(scans > statements / 2, `${scans} plans have an index scan`);
});
