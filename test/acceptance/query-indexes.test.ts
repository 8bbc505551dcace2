// Statements over indexes of a real node: builds, consistency, flushes and drops.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { administrator, NodeProcess } from '../support/node-process.ts';

const authorization = `Basic ${Buffer.from(`${administrator.username}:${administrator.password}`).toString('base64')}`;

interface Answer {
  status: string;
  results: Record<string, unknown>[];
  errors?: { code: number; msg: string }[];
}

async function aNodeWithIndexes() {
  const node = await NodeProcess.start({ args: ['--services', 'kv,index,n1ql', '--bucket', 'travel'] });
  const { rest, query = '', index = '' } = node.ready.node;
  const post = (url: string, body: unknown) =>
    fetch(url, {
      method: 'POST',
      headers: { authorization, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
  return {
    rest,
    index,
    run: async (statement: string, parameters: Record<string, unknown> = {}): Promise<Answer> =>
      (await (await post(`${query}/query/service`, { statement, ...parameters })).json()) as Answer,
    form: (path: string, method: string, fields: Record<string, string>) =>
      fetch(rest + path, { method, headers: { authorization }, body: new URLSearchParams(fields) }),
    read: async (url: string) => (await fetch(url, { headers: { authorization } })).json() as Promise<never>,
    [Symbol.asyncDispose]: () => node[Symbol.asyncDispose](),
  };
}

type TestNode = Awaited<ReturnType<typeof aNodeWithIndexes>>;

async function rowsOf({ run }: TestNode, statement: string, parameters?: Record<string, unknown>) {
  const { results, errors } = await run(statement, parameters);
  assert.deepEqual(errors, undefined);
  return results;
}

const fill = (node: TestNode, count: number) =>
  rowsOf(
    node,
    'UPSERT INTO travel (KEY k, VALUE {"n": v, "tags": [v % 2, "x"], "city": "c" || TOSTRING(v % 10)}) ' +
      'SELECT "d" || TOSTRING(v) AS k, v FROM ARRAY_RANGE(0, $count) AS v',
    { $count: count },
  );

test('statements use an index as soon as its creation is answered', async () => {
  await using node = await aNodeWithIndexes();
  await fill(node, 1_000);
  await rowsOf(node, 'CREATE INDEX by_n ON travel(n, city DESC) WHERE n >= 10');
  const [plan] = await rowsOf(node, 'EXPLAIN SELECT n FROM travel WHERE n BETWEEN 20 AND 22');
  assert.match(JSON.stringify(plan), /IndexScan3.*covers.*by_n/s);
  assert.deepEqual(await rowsOf(node, 'SELECT n, city FROM travel WHERE n BETWEEN 20 AND 22 ORDER BY n'), [
    { n: 20, city: 'c0' },
    { n: 21, city: 'c1' },
    { n: 22, city: 'c2' },
  ]);
  await rowsOf(node, 'CREATE INDEX by_tag ON travel(DISTINCT ARRAY t FOR t IN tags END)');
  const tagged = 'SELECT COUNT(*) AS c FROM travel WHERE ANY t IN tags SATISFIES t = 1 END';
  assert.deepEqual(await rowsOf(node, tagged), [{ c: 500 }]);
  const { indexes } = (await node.read(`${node.rest}/indexStatus`)) as {
    indexes: { definition: string; status: string }[];
  };
  assert.deepEqual(indexes.map(({ definition, status }) => [definition, status]).sort(), [
    ['CREATE INDEX `by_n` ON `travel`(`n`,`city` DESC) WHERE (`n` >= 10)', 'Ready'],
    ['CREATE INDEX `by_tag` ON `travel`((distinct (array `t` for `t` in `tags` end)))', 'Ready'],
  ]);
  const statistics = (await node.read(`${node.index}/api/v1/stats/travel/by_n`)) as Record<
    string,
    Record<string, number>
  >;
  assert.equal(statistics['travel:by_n']?.['items_count'], 990);
  assert.ok((statistics['travel:by_n']?.['num_requests'] ?? 0) > 0);
  const metrics = await (await fetch(`${node.rest}/metrics`, { headers: { authorization } })).text();
  assert.match(metrics, /^index_items_count\{bucket="travel",.*index="by_n".*\} 990$/m);
});

test('request_plus sees earlier writes, also after flushes and drops', async () => {
  await using node = await aNodeWithIndexes();
  await node.form('/pools/default/buckets/travel', 'POST', { flushEnabled: '1' });
  await rowsOf(node, 'CREATE INDEX by_n ON travel(n)');
  const ids = 'SELECT RAW META().id FROM travel WHERE n >= 0';
  for (let round = 0; round < 5; round++) {
    await fill(node, 20 + round);
    // The document `one` of the previous round is still there.
    assert.equal(
      (await rowsOf(node, ids, { scan_consistency: 'request_plus' })).length,
      20 + round + Number(round > 0),
    );
    await node.form('/pools/default/buckets/travel/controller/doFlush', 'POST', {});
    assert.deepEqual(await rowsOf(node, ids, { scan_consistency: 'request_plus' }), []);
    await rowsOf(node, 'INSERT INTO travel VALUES ("one", {"n": 1})');
    assert.deepEqual(await rowsOf(node, ids, { scan_consistency: 'request_plus' }), ['one']);
  }
  await rowsOf(node, 'DROP INDEX by_n ON travel');
  await rowsOf(node, 'CREATE INDEX by_n ON travel(n)');
  assert.deepEqual(await rowsOf(node, ids, { scan_consistency: 'request_plus' }), ['one']);
});

test('dropping a collection drops its indexes, and a recreated one has none', async () => {
  await using node = await aNodeWithIndexes();
  for (let round = 0; round < 3; round++) {
    await rowsOf(node, 'CREATE SCOPE travel.s IF NOT EXISTS');
    await rowsOf(node, 'CREATE COLLECTION travel.s.c');
    await rowsOf(node, 'CREATE INDEX by_n ON travel.s.c(n)');
    await rowsOf(node, 'INSERT INTO travel.s.c VALUES ("a", {"n": 1})');
    const found = await rowsOf(node, 'SELECT n FROM travel.s.c WHERE n > 0', {
      scan_consistency: 'request_plus',
    });
    assert.deepEqual(found, [{ n: 1 }]);
    await rowsOf(node, 'DROP COLLECTION travel.s.c');
    assert.deepEqual(await rowsOf(node, 'SELECT name FROM system:indexes'), []);
  }
});
