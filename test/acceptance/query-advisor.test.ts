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
