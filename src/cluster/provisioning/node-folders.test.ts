import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeNamed } from '../../../test/support/cluster.ts';
import { managedCluster } from '../../../test/support/manager.ts';

test('another node of the cluster keeps the folders that it has', async () => {
  const { request } = await managedCluster([nodeNamed('b', { otpNode: 'ns_1@b' })]);
  const { data, index } = nodeNamed('b').paths;
  const send = async (node: string, form: Record<string, string>) => {
    const { status, body } = await request(`/nodes/${node}/controller/settings`, { form });
    return [status, body];
  };
  assert.deepEqual(await send('ns_1@b', { path: data, index_path: index }), [200, undefined]);
  assert.deepEqual(await send('ns_1@b', { index_path: 'x' }), [
    400,
    ['An absolute path is required for index_path'],
  ]);
  assert.deepEqual(await send('ns_1@b', { index_path: '/fast' }), [
    400,
    ['Changing paths of nodes that are part of provisioned cluster is not supported'],
  ]);
  assert.equal((await send('ns_1@c', {}))[0], 404);
});
