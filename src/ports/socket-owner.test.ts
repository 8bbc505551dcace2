import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { ClientGate, operatorEntry } from './client-gate.ts';
import { hexOf, isOwnPeer, uidOf } from './socket-owner.ts';

const table = [
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
  '   0: 0100FF7F:D431 0100407F:1F9B 01 00000000:00000000 00:00000000 00000000  1001        0 12345 1 0',
  '   1: 0100FF7F:D432 0100407F:1F9B 08 00000000:00000000 00:00000000 00000000     0        0 12346 1 0',
  '   2: 0100407F:1F9B 0100FF7F:D431 01 00000000:00000000 00:00000000 00000000     0        0 12347 1 0',
].join('\n');

test('the user of the other end of an open connection is found, and of a closed one none', () => {
  const localEnd = hexOf('127.64.0.1', 8091);
  assert.equal(localEnd, '0100407F:1F9B');
  assert.equal(uidOf(table, hexOf('127.255.0.1', 0xd431), localEnd), 1001);
  assert.equal(uidOf(table, hexOf('127.255.0.1', 0xd432), localEnd), null);
  assert.equal(uidOf(table, hexOf('127.255.0.1', 0xd433), localEnd), null);
});

const skip = process.platform !== 'linux' && 'only Linux reports the owners of connections';

test('a connection of this process is recognized, also by the operator entry of a client gate', {
  skip,
}, async () => {
  const gate = new ClientGate();
  gate.admitOnly([operatorEntry('127.255.0.1')]);
  const verdicts: unknown[] = [];
  const server = createServer((socket: Socket) => {
    verdicts.push([isOwnPeer(socket), gate.pass(socket)]);
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  for (const localAddress of ['127.255.0.1', '127.0.0.9']) {
    const client = connect({ host: '127.0.0.1', port, localAddress });
    client.on('error', () => {});
    await once(client.resume(), 'close');
  }
  assert.deepEqual(verdicts, [
    [true, true],
    [true, false],
  ]);
  server.close();
});

test('the user of a connection over IPv6 is found in the table of IPv6, and one that the table lacks is refused', {
  skip,
}, async (t) => {
  const localEnd = hexOf('::1', 8091);
  assert.equal(localEnd, '00000000000000000000000001000000:1F9B');
  const line = `   0: 00000000000000000000000001000000:D431 ${localEnd} 01 00000000:00000000 00:00000000 00000000  1001        0 12345 1 0`;
  assert.equal(uidOf(line, hexOf('::1', 0xd431), localEnd), 1001);
  const server = createServer().listen(0, '::1');
  const [failure] = await Promise.race([
    once(server, 'listening'),
    once(server, 'error') as Promise<[Error]>,
  ]);
  if (failure !== undefined) return t.skip('this machine has no IPv6');
  t.after(() => server.close());
  const client = connect({ host: '::1', port: (server.address() as { port: number }).port });
  t.after(() => client.destroy());
  const [socket] = (await once(server, 'connection')) as [Socket];
  t.after(() => socket.destroy());
  assert.equal(isOwnPeer(socket), true);
  const { remoteAddress, localAddress, localPort } = socket;
  const unknown = { remoteAddress, localAddress, localPort, remotePort: 1 } as Socket;
  assert.equal(isOwnPeer(unknown), false);
});

test('the client gate refuses a connection of another user from the address of an operator', () => {
  const gate = new ClientGate(() => false);
  gate.admitOnly([operatorEntry('127.255.0.1'), '10.0.0.1']);
  const socket = (remoteAddress: string) =>
    ({ remoteAddress, on: () => {}, once: () => {}, destroy: () => {} }) as unknown as Socket;
  assert.equal(gate.pass(socket('127.255.0.1')), false);
  assert.equal(gate.pass(socket('10.0.0.1')), true);
  assert.equal(new ClientGate(() => true).pass(socket('127.255.0.1')), true);
});
