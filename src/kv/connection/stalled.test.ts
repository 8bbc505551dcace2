import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Magic } from '#wire/frame.ts';
import { Output } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { emptyCutItem } from '../data/cut.ts';
import type { HeldReply } from '../served/held-reply.ts';
import type { Answerable } from '../session/client.ts';
import { Connection, type ConnectionHost } from './connection.ts';
import { connectionLimits } from './connection-limits.ts';
import type { Transport } from './transport.ts';

/** A connection whose client accepts nothing. */
function aConnection() {
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
    pause: () => {},
    resume: () => {},
  };
  const time = { nowMs: 0 };
  const host = {
    output,
    dispatcher: { request: { environment: {}, output, workBytes: 0 } },
    traffic: { readBytes: 0, writtenBytes: 0 },
    turns: { isOver: false, countWork: () => {} },
    wake: () => {},
    tick: () => {},
    nowMs: () => time.nowMs,
  };
  const connection = new Connection(
    host as unknown as ConnectionHost,
    transport as unknown as Transport,
    '127.0.0.1:1',
  );
  connection.session.user = {} as NonNullable<typeof connection.session.user>;
  return { connection, socket, output, time };
}

/** A connection whose client has accepted nothing of 5 MiB. */
function aStalledConnection(made = aConnection()) {
  const { connection, output } = made;
  connection.send(() => {
    const bytes = 5 << 20;
    output.end = output.reserve(bytes) + bytes;
  });
  return made;
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

test('a client has time for the rest of a frame once it has accepted its replies, however long that takes', () => {
  const made = aConnection();
  const { connection, socket, time } = made;
  const aByte = Buffer.from([Magic.request]);
  connection.received(aByte, 0, 1);
  aStalledConnection(made);
  for (; time.nowMs <= 2 * connectionLimits.frameMs; time.nowMs += stepMs) {
    socket.unsentBytes -= 512 << 10;
    connection.sweep(time.nowMs);
  }
  socket.unsentBytes = 0;
  connection.drained();
  connection.sweep(time.nowMs + connectionLimits.frameMs);
  assert.equal(socket.isDestroyed, false);
  connection.sweep(time.nowMs + connectionLimits.frameMs + 1);
  assert.equal(socket.isDestroyed, true);
});

test('held replies wait while the client accepts nothing, and are sent once it reads again', () => {
  const { connection, socket } = aConnection();
  const request = { frame: { opcode: 0, opaque: 0 }, command: { quiet: null }, startedMs: -1 };
  const [replies, replyBytes] = [40, 1 << 20];
  const held = Array.from({ length: replies }, () =>
    connection.holdReply(request as unknown as Answerable, 'unordered', Buffer.alloc(replyBytes)),
  );
  for (const reply of held) reply.resolve(Status.success);
  connection.resume();
  let sent = 0;
  while (socket.unsentBytes > 0) {
    assert.ok(socket.unsentBytes <= connectionLimits.unsentBytes + replyBytes, `${socket.unsentBytes} bytes`);
    sent += socket.unsentBytes;
    socket.unsentBytes = 0;
    connection.drained();
  }
  assert.deepEqual([sent, connection.heldCount], [replies * replyBytes, 0]);
});

test('documents that were read for held replies are released while the client accepts nothing', () => {
  const made = aConnection();
  const request = { frame: { opcode: 0, opaque: 0 }, command: { quiet: null }, startedMs: -1 };
  const resolved = (lacksRoom: boolean): HeldReply => {
    const reply = made.connection.holdReply(request as unknown as Answerable, 'unordered');
    reply.frame = Buffer.alloc(24);
    reply.fetched = { vb: 0, key: Buffer.alloc(0), item: emptyCutItem(), lacksRoom };
    reply.resolve(Status.success);
    return reply;
  };
  const before = resolved(false);
  assert.notEqual(before.fetched, null);
  aStalledConnection(made);
  // Memory has no copy of the last one, so that its request cannot be answered later.
  const found = [before, resolved(false), resolved(true)].map(({ fetched, status }) => [fetched, status]);
  const { success, temporaryFailure } = Status;
  assert.deepEqual(found, [
    [null, success],
    [null, success],
    [null, temporaryFailure],
  ]);
});

test('messages that are not replies do not accumulate for a client that accepts nothing', () => {
  const { connection, socket } = aConnection();
  const messageBytes = 1 << 20;
  for (let message = 0; message < 40; message++) connection.push(Buffer.alloc(messageBytes));
  assert.ok(socket.unsentBytes <= connectionLimits.unsentBytes + messageBytes, `${socket.unsentBytes} bytes`);
  connection.sweep(1);
  connection.sweep(2 * stepMs + 2);
  assert.equal(socket.isDestroyed, true);
});
