// ADVISOR() and INFER_VALUE() over the query port.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually } from '../support/node-process.ts';
import { QueryClient } from '../support/query-client.ts';
import { RestartedNode } from '../support/restarted-node.ts';

const node = new RestartedNode('shop');
const advice = async (statements: unknown) => {
  const [report] = await node.queries.rows('SELECT RAW ADVISOR($statements)', { $statements: statements });
  return report as Record<string, { index: string; statements: object[] }[]>;
};

before(async () => {
  await node.start();
  await node.queries.rows('CREATE SCOPE shop.s');
  await node.queries.rows('CREATE COLLECTION shop.s.c');
  await node.queries.rows('CREATE INDEX `by a` ON shop(a)');
  await node.queries.rows('CREATE PRIMARY INDEX ON shop');
});
after(() => node[Symbol.asyncDispose]());

test('ADVISOR groups the advice for statements by index, and counts their runs', async () => {
  const missing = 'SELECT * FROM shop WHERE z = 1';
  const report = await advice([missing, 'SELECT * FROM shop WHERE a = 1', missing]);
  assert.deepEqual(
    report['current_used_indexes']?.map(({ index }) => index),
    ['CREATE PRIMARY INDEX #primary ON `shop`', 'CREATE INDEX by a ON `shop`(`a`)'],
  );
  assert.deepEqual(report['recommended_indexes'], [
    {
      index: 'CREATE INDEX adv_z ON `shop`(`z`)',
      statements: [{ statement: missing, run_count: 2 }],
    },
  ]);
  assert.deepEqual(await advice(missing), {
    ...report,
    current_used_indexes: [
      {
        index: 'CREATE PRIMARY INDEX #primary ON `shop`',
        statements: [{ statement: missing, run_count: 1 }],
      },
    ],
    recommended_indexes: [
      {
        index: 'CREATE INDEX adv_z ON `shop`(`z`)',
        statements: [{ statement: missing, run_count: 1 }],
      },
    ],
  });
});

test('ADVISOR knows the query context of a statement, and lists statements that it cannot advise on', async () => {
  const within = { statement: 'SELECT k FROM c WHERE k = 1', query_context: 'shop.s' };
  const { errors, recommended_covering_indexes: covering } = await advice([
    within,
    'SELECT',
    'EXPLAIN SELECT 1',
  ]);
  assert.deepEqual(covering?.[0]?.statements, [{ ...within, run_count: 1 }]);
  assert.deepEqual(
    (errors as unknown as { statement: string }[]).map(({ statement }) => statement),
    ['SELECT'],
  );
  assert.deepEqual(await advice(5), []);
  assert.deepEqual(await advice({ action: 'list' }), []);
});

test('ADVISOR gives a user no advice for statements that the user may not run', async () => {
  await node.process.request('/settings/rbac/users/local/nobody', 'PUT', { password: 'password', roles: '' });
  const nobody = new QueryClient(node.process.ready.node.query ?? '', {
    username: 'nobody',
    password: 'password',
  });
  await eventually(async () => assert.equal(await nobody.code('SELECT 1'), 0));
  const [report] = (await nobody.rows('SELECT RAW ADVISOR("SELECT * FROM shop WHERE z = 1")')) as [
    { errors: { error: string }[] },
  ];
  assert.deepEqual(Object.keys(report), ['errors']);
  assert.match(report.errors[0]?.error ?? '', /does not have credentials/);
});

interface TaskRow {
  readonly tasks_cache: Readonly<Record<string, string>>;
}

test('a session of ADVISOR advises on the statements that ran during it', async () => {
  const call = async (given: object) => (await advice(given)) as unknown;
  const { session } = (await call({ action: 'start', duration: '1h', profile: 'Administrator' })) as {
    session: string;
  };
  const [inside, prepared] = ['SELECT * FROM shop WHERE z = 7', 'SELECT * FROM shop WHERE y = $1'];
  await node.queries.rows(inside);
  await node.queries.rows(inside);
  await node.queries.rows(`PREPARE p FROM ${prepared}`);
  await node.queries.rows('EXECUTE p USING [1]');
  await node.queries.rows('SELECT 1 FROM system:dual');
  assert.deepEqual(await call({ action: 'get', session }), []);
  const listed = async (status: string) =>
    ((await call({ action: 'list', status })) as TaskRow[]).map(({ tasks_cache: row }) => [
      row['name'],
      row['state'],
    ]);
  assert.deepEqual(await listed('active'), [[session, 'scheduled']]);
  assert.deepEqual(await call({ action: 'stop', session }), []);
  await node.queries.rows('SELECT * FROM shop WHERE after = 1');
  assert.deepEqual([await listed('all'), await listed('completed')], [[[session, 'cancelled']], []]);
  const [[report]] = (await call({ action: 'get', session })) as [[Awaited<ReturnType<typeof advice>>]];
  const recommended = report['recommended_indexes'] ?? [];
  assert.deepEqual(
    recommended.flatMap(({ statements }) => statements),
    [
      { statement: inside, run_count: 2 },
      { statement: prepared, run_count: 1 },
    ],
  );
  const tasks = await node.queries.rows('SELECT t.name, t.class, t.delay FROM system:tasks_cache t');
  assert.deepEqual(tasks, [{ name: session, class: 'advisor', delay: '1h0m0s' }]);
  assert.deepEqual(await call({ action: 'purge', session }), []);
  assert.equal(await node.queries.code(`SELECT ADVISOR({"action": "get", "session": "${session}"})`), 10500);
});

test('a session of ADVISOR ends at its time, and is deleted with its row', async () => {
  const { session } = (await advice({ action: 'start', duration: '1ms' })) as unknown as { session: string };
  const named = `system:tasks_cache t WHERE t.name = "${session}"`;
  const states = async () => await node.queries.rows(`SELECT RAW t.state FROM ${named}`);
  await eventually(async () => assert.deepEqual(await states(), ['completed']));
  await node.queries.rows(`DELETE FROM ${named}`);
  assert.deepEqual(await states(), []);
});

test('ADVISOR refuses wrong calls about sessions, and users without the right to the catalog', async () => {
  const codeOf = (given: object) => node.queries.code(`SELECT ADVISOR(${JSON.stringify(given)})`);
  const start = { action: 'start', duration: '1h' };
  assert.equal(await codeOf({ session: 'x' }), 10502);
  assert.equal(await codeOf({ action: 'dance' }), 10501);
  assert.equal(await codeOf({ ...start, color: 'red' }), 10503);
  for (const wrong of [
    { duration: '169h' },
    { duration: 5 },
    { response: '-1s' },
    { query_count: '5' },
    { profile: 1 },
  ])
    assert.equal(await codeOf({ ...start, ...wrong }), 5010, JSON.stringify(wrong));
  assert.equal(await codeOf({ action: 'start' }), 5010);
  assert.equal(await codeOf({ action: 'list', status: 'odd' }), 5010);
  assert.equal(await codeOf({ action: 'stop' }), 5010);
  const nobody = new QueryClient(node.process.ready.node.query ?? '', {
    username: 'nobody',
    password: 'password',
  });
  assert.equal(await nobody.code(`SELECT ADVISOR(${JSON.stringify(start)})`), 13014);
});

test('INFER_VALUE answers the schema of a value and of a sample', async () => {
  const infer = async (value: unknown) => {
    const [schema] = await node.queries.rows('SELECT RAW INFER_VALUE($value)', { $value: value });
    return schema as { '#docs': number; type: string; properties: Record<string, { type: string }> }[];
  };
  const [only] = await infer({ a: 1, b: 'x' });
  assert.deepEqual([only?.['#docs'], only?.type], [1, 'object']);
  assert.deepEqual([only?.properties['a']?.type, only?.properties['b']?.type], ['number', 'string']);
  const flavours = await infer([{ a: 1 }, { a: 2 }, { z: 1, y: 2 }]);
  assert.deepEqual(
    flavours.map((flavour) => flavour['#docs']),
    [2, 1],
  );
});
