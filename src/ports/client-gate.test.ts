import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { isAddressRange } from './address-ranges.ts';
import { ClientGate } from './client-gate.ts';

test('addresses and networks of IPv4 and IPv6 are recognized, and nothing else', () => {
  for (const right of ['10.0.0.1', '10.0.0.0/8', '0.0.0.0/0', '::1', 'fd00::/8', '1.2.3.4/32']) {
    assert.equal(isAddressRange(right), true, right);
  }
  for (const wrong of [
    '',
    '10.0.0',
    '10.0.0.1/33',
    '10.0.0.1/',
    '10.0.0.1/8/8',
    '::1/129',
    'host',
    '1.2.3.4/-1',
    'fe80::1%lo',
  ]) {
    assert.equal(isAddressRange(wrong), false, wrong);
  }
});

test('a gate admits every address until it has a list, then only the listed networks', () => {
  const gate = new ClientGate();
  assert.equal(gate.admits('8.8.8.8'), true);
  gate.admitOnly(['10.0.0.0/8', 'fd00::/8', '127.0.0.1']);
  for (const inside of ['10.255.0.1', '::ffff:10.1.2.3', 'fd12::1', '127.0.0.1', '::FFFF:127.0.0.1']) {
    assert.equal(gate.admits(inside), true, inside);
  }
  for (const outside of ['11.0.0.1', '127.0.0.2', '::1', 'fe80::1', undefined, '', 'nonsense']) {
    assert.equal(gate.admits(outside), false, outside);
  }
  gate.admitOnly([]);
  assert.equal(gate.admits('127.0.0.1'), false);
  gate.admitOnly(null);
  assert.equal(gate.admits('127.0.0.2'), true);
});

test('the connections of addresses that leave the list are closed', async () => {
  const gate = new ClientGate();
  const accepted: Socket[] = [];
  const server = createServer((socket) => {
    if (gate.pass(socket)) accepted.push(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const client = connect({ host: '127.0.0.1', port });
  await once(client, 'connect');
  while (accepted.length === 0) await new Promise((resolve) => setImmediate(resolve));
  gate.admitOnly(['10.0.0.0/8']);
  await once(client.resume(), 'close');
  const refused = connect({ host: '127.0.0.1', port });
  refused.on('error', () => {});
  await once(refused.resume(), 'close');
  assert.equal(accepted.length, 1);
  server.close();
});
