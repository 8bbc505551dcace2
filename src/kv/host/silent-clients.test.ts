// Clients that connect and send nothing, on both data ports over real sockets: how long they stay connected, and that others can still
// connect.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { handshakeMs } from '#ports/unauthenticated-sockets.ts';
import { startService } from '../../../test/support/data-service.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { Opcode } from '../../../test/support/opcodes.ts';

/** A connected socket that is read, so that its end is detected. */
async function silent(port: number, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {});
  socket.resume();
  await once(socket, 'connect');
  return socket;
}

test('a silent connection to the TLS port ends after half a minute, even if single bytes arrive', async () => {
  const clock = new ManualClock();
  await using started = await startService(undefined, { clock });
  const quiet = await silent(started.tlsPort);
  const slow = await silent(started.tlsPort);
  // The start of a ClientHello whose rest is never sent.
  slow.write(Buffer.from([0x16, 3, 1, 2, 0]));
  const departing = await silent(started.tlsPort);
  await eventually(() => assert.equal(started.service.unauthenticated.total, 3));
  clock.advance(handshakeMs - 1);
  slow.write(Buffer.from([1]));
  departing.destroy();
  await eventually(() => assert.equal(started.service.unauthenticated.total, 2));
  assert.ok(!quiet.closed && !slow.closed);
  clock.advance(1);
  await Promise.all([quiet, slow].map(async (socket) => socket.closed || once(socket, 'close')));
  await eventually(() => assert.equal(started.service.unauthenticated.total, 0));
});

test('clients still connect and log in when few addresses open more connections without logging in than are permitted', async (t) => {
  // At most half of the 40 connections of the data ports may be unauthenticated.
  await using started = await startService(undefined, { handles: { data: 40, rest: 16 } });
  const inside = await started.ready();
  const crowd = await Promise.all(
    Array.from({ length: 40 }, (_, at) => silent(started.port, `127.0.0.${2 + (at % 4)}`)),
  );
  t.after(() => crowd.forEach((socket) => void socket.destroy()));
  await eventually(() => assert.ok(crowd.filter(({ closed }) => closed).length >= 20));
  assert.equal(started.service.unauthenticated.total, 20);
  for (let round = 0; round < 5; round++) {
    const client = await started.ready();
    assert.equal((await client.ask({ opcode: Opcode.noop })).status, 0);
  }
  assert.equal((await inside.ask({ opcode: Opcode.noop })).status, 0);
});
