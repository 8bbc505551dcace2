// A connection to a data port: a server that is silent, and more requests than may be in flight.
import assert from 'node:assert/strict';
import { type EventEmitter, once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { GetAllVbSeqnos } from '#wire/commands/bucket.ts';
import { headerBytes, Magic } from '#wire/frame.ts';
import { Status } from '#wire/status.ts';
import { inFlightMax, WireConnection } from './wire-connection.adapter.ts';

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
    const connection = await WireConnection.open({
      host: '127.0.0.1',
      port,
      timeoutMs,
      connectTimeoutMs: 5_000,
    });
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

const tooMany = inFlightMax + 100;

test('requests above the limit of a connection are sent once earlier ones are answered, in their order', async () => {
  await using server = await startServer();
  const connection = await WireConnection.open({ host: '127.0.0.1', port: server.port, timeoutMs: 5_000 });
  const answered: number[] = [];
  const all = deferred<void>();
  for (let index = 0; index < tooMany; index++)
    connection.send({ opcode: GetAllVbSeqnos.opcode }, (frame) => {
      if (frame !== null) answered.push(index);
      if (answered.length === tooMany) all.resolve();
      return true;
    });
  await Promise.race([all.promise, connection.closed]);
  connection.close();
  assert.deepEqual(
    answered,
    Array.from({ length: tooMany }, (_, index) => index),
  );
  assert.equal(server.mostUnanswered, inFlightMax);
});

test('every request of a connection that ends gets its end, also those above the limit', async () => {
  await using server = await startServer({ answers: false });
  const connection = await WireConnection.open({ host: '127.0.0.1', port: server.port, timeoutMs: 5_000 });
  let ended = 0;
  for (let index = 0; index < tooMany; index++)
    connection.send({ opcode: GetAllVbSeqnos.opcode }, (frame) => {
      if (frame === null) ended++;
      return true;
    });
  connection.close();
  assert.equal(ended, tooMany);
});

/** A server that answers requests without a body once it has as many as a connection sends at a time, and later ones at once. */
async function startServer({ answers = true } = {}) {
  const state = { port: 0, mostUnanswered: 0, [Symbol.asyncDispose]: async () => void server.close() };
  let unread = Buffer.alloc(0);
  let hasBegun = false;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      unread = Buffer.concat([unread, chunk]);
      const count = Math.floor(unread.length / headerBytes);
      state.mostUnanswered = Math.max(state.mostUnanswered, count);
      hasBegun ||= count >= inFlightMax;
      if (!answers || !hasBegun) return;
      const replies = Buffer.from(unread.subarray(0, count * headerBytes));
      for (let start = 0; start < replies.length; start += headerBytes) {
        replies[start] = Magic.response;
        replies.writeUInt16BE(Status.success, start + 6);
      }
      unread = unread.subarray(replies.length);
      socket.write(replies);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  state.port = (server.address() as { port: number }).port;
  return state;
}
