// A connection to the data port whose server is silent.
import assert from 'node:assert/strict';
import { type EventEmitter, once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { GetAllVbSeqnos } from '#wire/commands/bucket.ts';
import { WireConnection } from './wire-connection.adapter.ts';

const timeoutMs = 50;

/** Calls `use` with a connection to a server that never answers; the connection must end because of the time limit. */
async function endsWithLimit(
  use: (connection: WireConnection, limitPassed: () => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const server = createServer((socket) => socket.on('error', () => {}));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  try {
    const connection = await WireConnection.open({ host: '127.0.0.1', port, timeoutMs });
    const { socket } = connection as unknown as { socket: EventEmitter };
    await use(connection, () => once(socket, 'timeout'));
    const { message } = await connection.closed;
    assert.equal(message, `no answer from 127.0.0.1:${port} in ${timeoutMs} ms`);
  } finally {
    server.close();
  }
}

test('the connection to a server that stays silent after reading was paused for longer than the time limit is closed', () =>
  endsWithLimit(async (connection, limitPassed) => {
    connection.send({ opcode: GetAllVbSeqnos.opcode }, () => true);
    connection.pause();
    await limitPassed();
    connection.resume();
  }));

test('the connection to a server that does not answer the first request after an idle time above the limit is closed', () =>
  endsWithLimit(async (connection, limitPassed) => {
    await limitPassed();
    connection.send({ opcode: GetAllVbSeqnos.opcode }, () => true);
  }));
