// UPDATE STATISTICS over the query port: what it gathers, how the planner uses it, who may run it, and what remains after a restart.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { administrator, eventually } from '../support/node-process.ts';
import { QueryClient } from '../support/query-client.ts';
import { RestartedNode } from '../support/restarted-node.ts';

const node = new RestartedNode('shop');
const rows = (statement: string, parameters = {}) => node.queries.rows(statement, parameters);
const code = (statement: string, parameters = {}) => node.queries.code(statement, parameters);

const { username, password } = administrator;
const headers = { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };

/** 2,000 orders: `status` has two values, `customer` 500, `tags` one or two of 10. */
const order = (at: number) => ({
  status: at % 20 === 0 ? 'open' : 'closed',
  customer: at % 500,
  tags: at % 2 === 0 ? [`t${at % 10}`] : [`t${at % 10}`, 'all'],
});

before(async () => {
  await node.start();
  await fill('shop');
  await rows('CREATE INDEX byStatus ON shop(status)');
  await rows('CREATE INDEX byCustomer ON shop(customer)');
  await rows('CREATE INDEX byTag ON shop(DISTINCT ARRAY t FOR t IN tags END)');
});
after(() => node[Symbol.asyncDispose]());

async function fill(keyspace: string): Promise<void> {
  for (let from = 0; from < 2_000; from += 500) {
    const values = Array.from({ length: 500 }, (_, at) => [`o${from + at}`, order(from + at)]);
    await rows(`UPSERT INTO ${keyspace} (KEY k, VALUE v) SELECT o[0] AS k, o[1] AS v FROM $values AS o`, {
      $values: values,
    });
  }
}

interface Node {
  readonly '#operator': string;
  readonly index?: string;
  readonly optimizer_estimates?: { cardinality: number; cost: number };
}

/** The operators of a plan, in the order of the text. */
async function plan(statement: string, parameters = {}): Promise<Node[]> {
  const [row] = (await rows(`EXPLAIN ${statement}`, parameters)) as { plan: unknown }[];
  const found: Node[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if ('#operator' in value) found.push(value as Node);
    for (const child of Object.values(value)) visit(child);
  };
  visit(row?.plan);
  return found;
}

const scan = async (statement: string, parameters = {}) =>
  (await plan(statement, parameters)).find((each) => each['#operator'] === 'IndexScan3');

const both = 'SELECT * FROM shop WHERE status = "closed" AND customer BETWEEN 7 AND 9';

test('statistics choose the index with fewer rows, and EXPLAIN shows the estimates', async () => {
  const before = (await rows(`${both} ORDER BY META().id`)) as unknown[];
  assert.equal(
    (await scan(both))?.index,
    'byStatus',
    'without statistics the planner did not prefer the index with an equality',
  );
  assert.equal((await scan(both))?.optimizer_estimates, undefined);
  assert.deepEqual(await rows('UPDATE STATISTICS FOR shop INDEX ALL'), []);
  const chosen = await scan(both);
  assert.equal(chosen?.index, 'byCustomer');
  const { cardinality = 0, cost = 0 } = chosen?.optimizer_estimates ?? {};
  assert.ok(cardinality > 5 && cardinality < 30, `12 rows, estimated ${cardinality}`);
  assert.ok(cost > 0);
  const fetch = (await plan(both)).find((each) => each['#operator'] === 'Fetch');
  assert.ok(
    (fetch?.optimizer_estimates?.cost ?? 0) > cost,
    'the cost of the fetch does not include that of the scan',
  );
  assert.deepEqual(await rows(`${both} ORDER BY META().id`), before);
  const open = 'SELECT * FROM shop WHERE status = "open" AND customer < 490';
  assert.equal((await scan(open))?.index, 'byStatus', 'the planner did not choose the index with fewer rows');
});

test('a request or the setting can leave the statistics out', async () => {
  assert.equal((await scan(both, { use_cbo: false }))?.index, 'byStatus');
  const set = async (value: boolean) => {
    const settings = { method: 'POST', headers, body: JSON.stringify({ 'use-cbo': value }) };
    assert.equal((await fetch(`${node.process.ready.node.query}/admin/settings`, settings)).status, 200);
  };
  await set(false);
  assert.equal((await scan(both))?.index, 'byStatus');
  assert.equal((await scan(both, { use_cbo: true }))?.index, 'byCustomer');
  await set(true);
  assert.equal((await scan(both))?.index, 'byCustomer');
});

test('a prepared statement gets a new plan when the statistics change', async () => {
  await rows(`PREPARE FORCE chosen AS ${both}`);
  const indexOf = async () => {
    const answer = await node.queries.ask('EXECUTE chosen', { profile: 'timings' });
    assert.equal(answer.results?.length, 12);
    return /"index":"(\w+)"/.exec(JSON.stringify(answer))?.[1];
  };
  assert.equal(await indexOf(), 'byCustomer');
  await rows('UPDATE STATISTICS FOR shop DELETE ALL');
  assert.equal(await indexOf(), 'byStatus');
  await rows('ANALYZE KEYSPACE shop INDEX(byStatus, byCustomer)');
  assert.equal(await indexOf(), 'byCustomer');
});

const keys = async () =>
  (await rows('SELECT RAW d.distributionKeys FROM system:dictionary d WHERE d.`bucket` = "shop"')).flat();

const distinctTags = '(distinct (array `t` for `t` in `tags` end))';

test('each form gathers or deletes what it names', async () => {
  await rows('UPDATE STATISTICS FOR shop DELETE ALL');
  assert.deepEqual(await keys(), []);
  await rows('UPDATE STATISTICS FOR shop(status, DISTINCT ARRAY t FOR t IN tags END) WITH {"resolution": 2}');
  assert.deepEqual(await keys(), [distinctTags, '`status`']);
  await rows('UPDATE STATISTICS FOR INDEX shop.byCustomer');
  assert.deepEqual(await keys(), [distinctTags, '`customer`', '`status`']);
  await rows('ANALYZE shop DELETE STATISTICS (customer)');
  assert.deepEqual(await keys(), [distinctTags, '`status`']);
  await rows('ANALYZE INDEX byCustomer ON shop');
  const named = 'SELECT RAW name FROM system:indexes WHERE keyspace_id = "shop" AND name = "byTag"';
  await rows('UPDATE STATISTICS FOR shop DELETE (status)');
  await rows(`UPDATE STATISTICS shop INDEX((${named}))`);
  assert.deepEqual(await keys(), [distinctTags, '`customer`']);
  const tagged = 'SELECT META().id FROM shop WHERE ANY t IN tags SATISFIES t = "all" END';
  const { cardinality = 0 } = (await scan(tagged))?.optimizer_estimates ?? {};
  assert.ok(cardinality > 900 && cardinality < 1_100, `1,000 rows, estimated ${cardinality}`);
});

test('the catalog and the administration port show which expressions have statistics', async () => {
  const [row] = (await rows('SELECT RAW d FROM system:dictionary d')) as Record<string, unknown>[];
  const average = (numbers: number[]) => Math.round(numbers.reduce((a, b) => a + b, 0) / numbers.length);
  const all = Array.from({ length: 2_000 }, (_, at) => at);
  assert.deepEqual(row, {
    avgDocKeySize: average(all.map((at) => `o${at}`.length)),
    avgDocSize: average(all.map((at) => JSON.stringify(order(at)).length)),
    bucket: 'shop',
    distributionKeys: [distinctTags, '`customer`'],
    docCount: 2_000,
    keyspace: '_default',
    namespace: 'default',
    scope: '_default',
  });
  const [cached] = (await rows('SELECT RAW d FROM system:dictionary_cache d')) as Record<string, unknown>[];
  assert.deepEqual(cached, { ...row, node: cached?.['node'] });
  const read = async (path: string) =>
    (await fetch(`${node.process.ready.node.query}${path}`, { headers })).json();
  assert.deepEqual(await read('/admin/dictionary_cache'), [cached]);
  assert.deepEqual(await read('/admin/indexes/dictionary_cache'), ['default:shop']);
  assert.deepEqual(await read('/admin/dictionary_cache/default:shop'), cached);
});

test('wrong requests are refused with the reason', async () => {
  assert.equal(await code('UPDATE STATISTICS FOR nowhere(a)'), 12003);
  assert.equal(await code('UPDATE STATISTICS FOR shop INDEX(nothing)'), 12016);
  assert.equal(await code('UPDATE STATISTICS FOR INDEX shop.nothing'), 12016);
  for (const options of [
    '{"sample_size": 0}',
    '{"sample_size": 40001}',
    '{"resolution": 0.1}',
    '{"resolution": "fine"}',
    '{"batch_size": 1.5}',
    '{"update_statistics_timeout": -1}',
    '{"colour": 1}',
    '5',
  ])
    assert.equal(await code(`UPDATE STATISTICS FOR shop(a) WITH ${options}`), 3100, options);
  const many = Array.from({ length: 65 }, (_, at) => `f${at}`).join(', ');
  const { errors } = await node.queries.ask(`UPDATE STATISTICS FOR shop(${many})`);
  assert.match(errors?.[0]?.msg ?? '', /at most 64 expressions/);
  const timedOut = await node.queries.ask(
    'UPDATE STATISTICS FOR shop(a) WITH {"update_statistics_timeout": 1e-9}',
  );
  assert.equal(timedOut.errors?.[0]?.code, 1080);
  assert.notEqual(await code('UPDATE STATISTICS FOR shop(a)', { readonly: true }), 0);
  const transaction = await node.queries.begin();
  assert.equal(await code('UPDATE STATISTICS FOR shop(a)', transaction), 17002);
  await rows('ROLLBACK', transaction);
});

test('statistics need the role to query the collection', async () => {
  const account = { username: 'writer', password: 'password' };
  await node.process.request('/settings/rbac/users/local/writer', 'PUT', {
    password: account.password,
    roles: 'query_insert[shop]',
  });
  const writer = new QueryClient(node.process.ready.node.query ?? '', account);
  assert.equal(await writer.code('UPDATE STATISTICS FOR shop(status)'), 13014);
  assert.equal(await writer.code('UPDATE STATISTICS FOR shop DELETE ALL'), 13014);
  assert.deepEqual(await writer.rows('SELECT * FROM system:dictionary'), []);
});

test('statistics survive a restart and end with their collection', async () => {
  await rows('CREATE COLLECTION shop._default.past');
  await fill('shop._default.past');
  await rows('CREATE INDEX pastStatus ON shop._default.past(status)');
  await rows('UPDATE STATISTICS FOR shop._default.past INDEX ALL');
  await rows('UPDATE STATISTICS FOR shop INDEX ALL');
  await node.process[Symbol.asyncDispose]();
  await node.start();
  await eventually(async () => assert.equal((await scan(both))?.index, 'byCustomer'));
  const kept = 'SELECT RAW d.`keyspace` FROM system:dictionary d ORDER BY d.`keyspace`';
  assert.deepEqual(await rows(kept), ['_default', 'past']);
  await rows('DROP COLLECTION shop._default.past');
  assert.deepEqual(await rows(kept), ['_default']);
  await rows('CREATE COLLECTION shop._default.past');
  assert.deepEqual(await rows(kept), ['_default']);
});
