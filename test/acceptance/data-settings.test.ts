// Limits of the data port, set over REST and seen from outside, also by a node that starts with them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { KvConnection } from '../support/kv-connection.ts';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';

const path = '/pools/default/settings/memcached/global';
const leastLimit = 2000;
const noop = { opcode: 0x0a };

const portOf = (node: NodeProcess): number => Number(node.ready.node.kv.split(':')[1]);

async function clientOf(node: NodeProcess): Promise<KvConnection> {
  const client = await KvConnection.open(portOf(node));
  await client.plain(administrator.username, administrator.password);
  return client;
}

async function isIdleClientDropped(node: NodeProcess): Promise<void> {
  const client = await clientOf(node);
  assert.equal((await client.ask(noop)).status, 0);
  assert.equal(await client.next(), null);
  client.close();
}

test('idle clients are hung up on, also after a restart, and connections are logged', async () => {
  await using node = await NodeProcess.start();
  const form = { connection_idle_time: '1', verbosity: '1' };
  assert.equal((await node.request(path, 'POST', form)).status, 202);
  await isIdleClientDropped(node);
  await eventually(() => assert.match(node.output, /connection\.closed/));
  await node.stop('SIGKILL');
  await using again = await NodeProcess.start({ dataDir: node.dataDir });
  assert.deepEqual(await (await again.request(path)).json(), { connection_idle_time: 1, verbosity: 1 });
  await isIdleClientDropped(again);
});

test('clients above the limit are turned away, and those below it served', async () => {
  await using node = await NodeProcess.start();
  await node.request(path, 'POST', { max_connections: `${leastLimit}` });
  const client = await clientOf(node);
  const others: Socket[] = [];
  let closed = 0;
  for (let i = 0; i < leastLimit + 9; i++) {
    const socket = connect(portOf(node), '127.0.0.1').resume();
    socket.on('close', () => closed++);
    await once(socket, 'connect');
    others.push(socket);
  }
  await eventually(() => assert.equal(closed, 10));
  assert.equal((await client.ask(noop)).status, 0);
  for (const socket of others) socket.destroy();
  await eventually(async () => (await clientOf(node)).close());
  client.close();
});
