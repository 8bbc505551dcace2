// The index service's port on a real node, and what the cluster manager shows of the service.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';
import { QueryClient } from '../support/query-client.ts';

const administratorLogin = `Basic ${Buffer.from(`${administrator.username}:${administrator.password}`).toString('base64')}`;
const read = (url: string, authorization = administratorLogin) => fetch(url, { headers: { authorization } });

interface Metadata {
  definitions: Record<string, unknown>[];
}

test('a node with the index service advertises the port of the service and answers requests to it', async () => {
  await using node = await NodeProcess.start({ args: ['--services', 'kv,index,n1ql', '--bucket', 'travel'] });
  const { rest, index = '' } = node.ready.node;
  const { nodesExt } = (await (await read(`${rest}/pools/default/nodeServices`)).json()) as {
    nodesExt: { services: Record<string, number> }[];
  };
  assert.equal(nodesExt[0]?.services['indexHttp'], Number(new URL(index).port));
  assert.deepEqual(await (await read(`${index}/getIndexStatus`)).json(), {
    version: 0,
    code: 'success',
    status: [],
  });
  const statistics = (await (await read(`${index}/api/v1/stats`)).json()) as Record<string, unknown>;
  assert.deepEqual(Object.keys(statistics), ['indexer']);
  assert.equal((await read(`${index}/api/v1/stats/travel`)).status, 404);
  assert.equal((await read(`${index}/getIndexStatus`, `Basic ${btoa('unknown:password')}`)).status, 401);
  await node.request('/settings/rbac/users/local/roleless', 'PUT', { password: 'password', roles: '' });
  const roleless = `Basic ${btoa('roleless:password')}`;
  await eventually(async () => assert.equal((await read(`${index}/settings`, roleless)).status, 403));
  const refused = (await (await read(`${index}/settings`, roleless)).json()) as { permissions: string[] };
  assert.deepEqual(refused.permissions, ['cluster.settings.indexes!read']);
  assert.equal((await read(`${index}/getIndexStatus`, roleless)).status, 200);
  assert.deepEqual(await (await read(`${rest}/indexStatus`)).json(), {
    indexes: [],
    version: 0,
    warnings: [],
  });
});

test('the port shows backup tools the definitions of the indexes that their user may list', async () => {
  await using node = await NodeProcess.start({ args: ['--services', 'kv,index,n1ql', '--bucket', 'travel'] });
  const { index = '', query = '' } = node.ready.node;
  const queries = new QueryClient(query);
  await queries.rows(
    'CREATE INDEX tags ON travel(DISTINCT tags, age DESC) WHERE age > 1 WITH {"defer_build": true}',
  );
  await queries.rows('CREATE PRIMARY INDEX ON travel PARTITION BY HASH(META().id)');
  const form = { password: 'password', roles: 'data_reader[travel]' };
  await node.request('/settings/rbac/users/local/reader', 'PUT', form);
  const reader = `Basic ${btoa('reader:password')}`;
  const definitions = async (path: string, authorization = administratorLogin) => {
    const found = (await (await read(`${index}${path}`, authorization)).json()) as Metadata & {
      result?: { metadata: [Metadata] };
    };
    return found.result?.metadata[0].definitions ?? found.definitions;
  };
  const all = await definitions('/getIndexMetadata');
  assert.deepEqual(all.map(({ name }) => name).sort(), ['#primary', 'tags']);
  const [tags] = await definitions('/getLocalIndexMetadata?bucket=travel&index=tags');
  const { secExprs, desc, where, deferred, isArrayDistinct, isPrimary, numPartitions } = tags ?? {};
  assert.deepEqual(
    { secExprs, desc, where, deferred, isArrayDistinct, isPrimary, numPartitions },
    {
      secExprs: ['(distinct (`tags`))', '`age`'],
      desc: [false, true],
      where: '(`age` > 1)',
      deferred: true,
      isArrayDistinct: true,
      isPrimary: false,
      numPartitions: 1,
    },
  );
  await eventually(async () => assert.deepEqual(await definitions('/getIndexMetadata', reader), []));
});

test('the cluster manager shows only indexes whose definitions the user may read', async () => {
  const buckets = ['--bucket', 'travel', '--bucket', 'payroll'];
  await using node = await NodeProcess.start({ args: ['--services', 'kv,index,n1ql', ...buckets] });
  const { rest, query = '' } = node.ready.node;
  const queries = new QueryClient(query);
  await queries.rows('CREATE INDEX towns ON travel(town)');
  await queries.rows('CREATE INDEX wages ON payroll(wage) WHERE name = "Ann"');
  const shownTo = async (user: string, roles: string) => {
    await node.request(`/settings/rbac/users/local/${user}`, 'PUT', { password: 'password', roles });
    const answer = await read(`${rest}/indexStatus`, `Basic ${btoa(`${user}:password`)}`);
    if (answer.status !== 200) return answer.status;
    const { indexes } = (await answer.json()) as { indexes: { index: string }[] };
    return indexes.map(({ index }) => index).sort();
  };
  assert.deepEqual(await shownTo('owner', 'query_manage_index[travel]'), ['towns']);
  assert.deepEqual(await shownTo('auditor', 'ro_admin'), ['towns', 'wages']);
  for (const role of ['bucket_admin[travel]', 'views_admin[travel]', 'query_select[travel]'])
    assert.equal(await shownTo('other', role), 403, role);
});

test('a node without the index service reports no index port', async () => {
  await using node = await NodeProcess.start({ args: ['--services', 'kv', '--bucket', 'travel'] });
  assert.equal(node.ready.node.index, undefined);
});
