// Limits of the data port, set over REST, at once and after a restart.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Feature } from '#wire/features.ts';
import { portNumber } from '../support/addresses.ts';
import { KvConnection } from '../support/kv-connection.ts';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';
import { Opcode } from '../support/opcodes.ts';

const path = '/pools/default/settings/memcached/global';
/** The smallest `max_connections` that the node accepts. */
const connectionsMin = 2000;
const noop = { opcode: Opcode.noop };

const portOf = (node: NodeProcess): number => portNumber(node.ready.node.kv);

async function clientOf(node: NodeProcess): Promise<KvConnection> {
  const client = await KvConnection.open(portOf(node));
  await client.plain(administrator.username, administrator.password);
  return client;
}

async function assertIdleClientClosed(node: NodeProcess): Promise<void> {
  const client = await clientOf(node);
  assert.equal((await client.ask(noop)).status, 0);
  assert.equal(await client.next(), null);
  client.close();
}

test('the data service closes idle connections, also after a restart, and logs connections', async () => {
  await using node = await NodeProcess.start();
  const form = { connection_idle_time: '1', verbosity: '1' };
  assert.equal((await node.request(path, 'POST', form)).status, 202);
  await assertIdleClientClosed(node);
  await eventually(() => assert.match(node.output, /connection\.closed/));
  await node.stop('SIGKILL');
  await using again = await NodeProcess.start({ dataDir: node.dataDir });
  assert.deepEqual(await (await again.request(path)).json(), { connection_idle_time: 1, verbosity: 1 });
  await assertIdleClientClosed(again);
});

const connectedAtOnce = 32;

/** Logs in, since unauthenticated clients get only a part of the connections; null when the node refuses the connection. */
async function loggedInOrNull(node: NodeProcess): Promise<KvConnection | null> {
  const client = await KvConnection.open(portOf(node));
  const isLoggedIn = client.plain(administrator.username, administrator.password).then(
    () => true,
    () => false,
  );
  return (await Promise.race([isLoggedIn, client.closed.then(() => false)])) ? client : null;
}

test('the data service refuses clients above the limit, and serves those below it', async () => {
  await using node = await NodeProcess.start({ args: ['--services', 'kv'] });
  const changed = await node.request(path, 'POST', { max_connections: `${connectionsMin}` });
  assert.equal(changed.status, 202);
  const client = await clientOf(node);
  const refused = 10;
  const others: (KvConnection | null)[] = [];
  const wanted = connectionsMin - 1 + refused;
  while (others.length < wanted) {
    const batch = Math.min(connectedAtOnce, wanted - others.length);
    others.push(...(await Promise.all(Array.from({ length: batch }, () => loggedInOrNull(node)))));
  }
  assert.equal(others.filter((other) => other === null).length, refused);
  assert.equal((await client.ask(noop)).status, 0);
  for (const other of others) other?.close();
  await eventually(async () => (await clientOf(node)).close());
  client.close();
});

test('compression of values and durations in replies can be switched off for new connections', async () => {
  await using node = await NodeProcess.start();
  const { snappy, tracing, xerror } = Feature;
  const granted = async () => {
    const client = await KvConnection.open(portOf(node));
    const { value } = await client.hello([snappy, tracing, xerror]);
    client.close();
    return Array.from({ length: value.length / 2 }, (_, at) => value.readUInt16BE(2 * at));
  };
  assert.deepEqual(await granted(), [snappy, tracing, xerror]);
  await node.request(path, 'POST', { datatype_snappy: 'false' });
  await eventually(async () => assert.deepEqual(await granted(), [tracing, xerror]));
  await node.request(path, 'POST', { datatype_snappy: 'true', tracing_enabled: 'false' });
  await eventually(async () => assert.deepEqual(await granted(), [snappy, xerror]));
});
