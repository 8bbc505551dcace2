// Clients that exhaust unauthenticated connections, or memory with incomplete requests: the node reserves resources for others.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { encodeRequest } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { portNumber } from '../support/addresses.ts';
import { dataClient, get, persisted, set } from '../support/data-client.ts';
import { KvConnection } from '../support/kv-connection.ts';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';
import { Opcode } from '../support/opcodes.ts';

const handles = 1024;
const attackersPerPort = 500;
const refusedMin = 1_000;
const freeHandlesMin = 100;
const handlesOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** Opens connections from many addresses, and waits until each is open or closed by the node. */
async function occupy(ports: readonly number[], perPort: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (const port of ports)
    for (let at = 0; at < perPort; at++) {
      const localAddress = `127.0.${1 + (at % 4)}.${1 + (at % 200)}`;
      const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {});
      socket.resume();
      sockets.push(socket);
    }
  await eventually(() => assert.ok(sockets.every(({ connecting }) => !connecting)));
  return sockets;
}

test('unauthenticated connections on all ports leave handles for files, REST and administrators', async (t) => {
  await using node = await NodeProcess.start({
    handles,
    args: ['--services', 'kv,index,n1ql', '--bucket', 'b'],
  });
  const inside = await dataClient(node);
  const { kv, kvTls, rest, restTls, query, queryTls, index, indexTls } = node.ready.node;
  const ports = [kv, kvTls, rest, restTls, query, queryTls, index, indexTls].map((address) =>
    portNumber(address ?? ''),
  );
  assert.ok(ports.every((port) => port > 0));
  const before = handlesOf(node.pid);
  const attackers = await occupy(ports, attackersPerPort);
  t.after(() => attackers.forEach((socket) => void socket.destroy()));
  await eventually(() => assert.ok(handlesOf(node.pid) > before + 300, 'the attack occupies nothing'));
  await eventually(() => {
    const refused = attackers.filter(({ closed }) => closed).length;
    assert.ok(refused > refusedMin, `only ${refused} of ${attackers.length} were refused`);
  });
  assert.ok(handlesOf(node.pid) < handles - freeHandlesMin, `${handlesOf(node.pid)} handles are taken`);
  // Connections in the system's queues are still accepted and closed, so that a client may have to reconnect.
  for (let round = 0; round < 3; round++) {
    await eventually(async () => {
      const created = await node.request('/pools/default/buckets', 'POST', {
        name: `new${round}`,
        ramQuotaMB: '100',
        replicaNumber: '0',
      });
      const text = await created.text();
      assert.ok(created.status === 202 || text.includes('already exists'), text);
    });
    const client = await eventually(() => dataClient(node, `new${round}`));
    assert.equal((await client.ask(set('k', '1', { framing: persisted }))).status, Status.success);
  }
  await eventually(async () => {
    const answer = await fetch(`${query}/query/service`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${administrator.username}:${administrator.password}`)}` },
      body: new URLSearchParams({ statement: 'select 1 as one' }),
    });
    assert.equal(answer.status, 200, await answer.text());
  });
  assert.equal((await inside.ask(set('k', '1', { framing: persisted }))).status, Status.success);
});

const attackingConnections = 40;
const megabyte = 1_000_000;
const residentBytes = (pid: number): number =>
  1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

test(`incomplete large requests on ${attackingConnections} connections of one user stay within the memory limit of a user`, async () => {
  await using node = await NodeProcess.start({ args: ['--bucket', 'b:native:200'] });
  const created = await node.request('/settings/rbac/users/local/reader', 'PUT', {
    password: 'password',
    roles: 'data_reader[b:_default:_default]',
  });
  assert.equal(created.status, 200, await created.text());
  const before = residentBytes(node.pid);
  const whole = encodeRequest({
    opcode: Opcode.set,
    key: Buffer.from('\0k'),
    extras: Buffer.alloc(8),
    value: Buffer.alloc(29 * megabyte, 0x61),
  });
  const part = whole.subarray(0, 28 * megabyte);
  const userLimitBytes = 128 * 1024 * 1024;
  const grown = () => residentBytes(node.pid) - before;
  const other = await dataClient(node);
  for (let attack = 0; attack < 2; attack++) {
    const clients = await Promise.all(
      Array.from({ length: attackingConnections }, () => sendPart(portNumber(node.ready.node.kv), part)),
    );
    await eventually(() => assert.ok(grown() > userLimitBytes / 2, `only ${grown()} bytes arrived`));
    let most = 0;
    // While it serves this many requests, the node reads all that the limit allows.
    for (let round = 0; round < 200; round++) {
      assert.equal((await other.ask(set(`k${round}`, '1', { framing: persisted }))).status, Status.success);
      assert.equal((await other.ask(get(`k${round}`))).status, Status.success);
      most = Math.max(most, grown());
    }
    // Garbage collection frees the memory of closed connections later.
    assert.ok(most < (1 + attack) * userLimitBytes + 100 * megabyte, `the node grew by ${most} bytes`);
    for (const client of clients) client.close();
  }
});

async function sendPart(port: number, part: Buffer): Promise<KvConnection> {
  const client = await KvConnection.open(port);
  await client.plain('reader', 'password');
  client.socket.write(part);
  return client;
}
