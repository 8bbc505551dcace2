import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Output } from '#wire/output.ts';
import { Connection, type ConnectionHost } from './connection.ts';
import { connectionLimits } from './connection-limits.ts';
import type { Transport } from './transport.ts';

/** A connection whose client has accepted nothing of 5 MiB. */
function aStalledConnection() {
  const output = new Output();
  const socket = { unsentBytes: 0, isDestroyed: false };
  const transport = {
    get unsentBytes() {
      return socket.unsentBytes;
    },
    write: (_bytes: Buffer, length: number) => {
      socket.unsentBytes += length;
      return false;
    },
    destroy: () => {
      socket.isDestroyed = true;
    },
    markAuthenticated: () => {},
  };
  const host = { output, traffic: { readBytes: 0, writtenBytes: 0 }, nowMs: () => 0 };
  const connection = new Connection(
    host as unknown as ConnectionHost,
    transport as unknown as Transport,
    '127.0.0.1:1',
  );
  connection.session.user = {} as NonNullable<typeof connection.session.user>;
  connection.send(() => {
    const bytes = 5 << 20;
    output.end = output.reserve(bytes) + bytes;
  });
  return { connection, socket, output };
}

const stepMs = connectionLimits.stalledMs / 2;

test('a client that accepts its replies slowly keeps its connection', () => {
  const { connection, socket } = aStalledConnection();
  for (let nowMs = stepMs; nowMs <= 8 * stepMs; nowMs += stepMs) {
    socket.unsentBytes -= 512 << 10;
    connection.sweep(nowMs);
  }
  assert.equal(socket.isDestroyed, false);
  for (let nowMs = 9 * stepMs; nowMs <= 11 * stepMs; nowMs += stepMs) connection.sweep(nowMs);
  assert.equal(socket.isDestroyed, true);
});

test('a client that is reading a reply is not idle, one that stopped reading is', () => {
  const { connection, socket } = aStalledConnection();
  socket.unsentBytes = 1 << 20; // not stalled: below the limit
  const idleMs = 1_000;
  let closed = 0;
  connection.close = () => void closed++;
  for (let nowMs = idleMs; nowMs <= 8 * idleMs; nowMs += idleMs) {
    socket.unsentBytes -= 100 << 10;
    connection.sweep(nowMs, idleMs);
  }
  assert.equal(closed, 0);
  connection.sweep(9 * idleMs, idleMs);
  assert.equal(closed, 1);
});

test('a client that accepts nothing loses its connection, also while more is written to it', () => {
  const { connection, socket, output } = aStalledConnection();
  connection.sweep(stepMs);
  connection.send(() => output.append(Buffer.alloc(100)));
  connection.sweep(2 * stepMs + 1);
  assert.equal(socket.isDestroyed, true);
});
