// The index service's port, and how the cluster manager advertises it, on a real node.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { administrator, NodeProcess } from '../support/node-process.ts';

const auth = `Basic ${Buffer.from(`${administrator.username}:${administrator.password}`).toString('base64')}`;
const read = (url: string, authorization = auth) => fetch(url, { headers: { authorization } });

test('a node with the index service advertises its port and answers there', async () => {
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
  assert.equal((await read(`${index}/getIndexStatus`, 'Basic eDp5')).status, 401);
  assert.deepEqual(await (await read(`${rest}/indexStatus`)).json(), {
    indexes: [],
    version: 0,
    warnings: [],
  });
});

test('a node without the index service reports no index port', async () => {
  await using node = await NodeProcess.start({ args: ['--services', 'kv', '--bucket', 'travel'] });
  assert.equal(node.ready.node.index, undefined);
});
