import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Frame } from '#wire/frame.ts';
import { encodeRequest, Output } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { AfterFrame } from '../dispatch/request.ts';
import type { HeldReply } from '../served/held-reply.ts';
import type { Answerable } from '../session/client.ts';
import { Connection, type ConnectionHost } from './connection.ts';
import { connectionLimits } from './connection-limits.ts';
import { InputBudget } from './input-budget.ts';
import type { Transport } from './transport.ts';

/** A connection whose requests wait for the disk, and of which `socket` says whether it was closed. */
function aConnection(input = new InputBudget(connectionLimits.input)) {
  const held: HeldReply[] = [];
  const hold = (connection: Connection, { buffer, end, start }: Frame): AfterFrame => {
    const request = { frame: { opcode: 0, opaque: 0 }, command: { quiet: null }, startedMs: -1 };
    const reply = connection.holdReply(request as unknown as Answerable, 'unordered');
    reply.frame = Buffer.from(buffer.subarray(start, end));
    held.push(reply);
    return AfterFrame.continue;
  };
  /** What the frames that run again do. */
  const again = { hold: false };
  const host = {
    input,
    output: new Output(),
    dispatcher: {
      request: { workBytes: 0 },
      run: hold,
      rerun: (connection: Connection, { frame }: HeldReply) =>
        again.hold
          ? hold(connection, { buffer: frame, start: 0, end: frame.length } as Frame)
          : AfterFrame.continue,
    },
    traffic: { readBytes: 0, writtenBytes: 0 },
    turns: { isOver: false, countWork: () => {} },
    wake: () => {},
    tick: () => {},
    discard: () => {},
    nowMs: () => 0,
  };
  const socket = { isDestroyed: false };
  const transport = {
    unsentBytes: 0,
    markAuthenticated: () => {},
    pause: () => {},
    resume: () => {},
    destroy: () => {
      socket.isDestroyed = true;
    },
  };
  const connection = new Connection(
    host as unknown as ConnectionHost,
    transport as unknown as Transport,
    '127.0.0.1:1',
  );
  connection.session.user = { spec: { name: 'user' } } as NonNullable<typeof connection.session.user>;
  connection.setAuthenticated(true);
  return { connection, held, again, input, socket };
}

const frame = encodeRequest({ opcode: Opcode.append, value: Buffer.alloc(100_000) });

function send(connection: Connection): void {
  connection.received(frame, 0, 100);
  connection.received(frame, 100, frame.length);
}

test('the memory of a large frame that waits for the disk stays reserved until the frame has run', () => {
  const { again, connection, held, input } = aConnection();
  send(connection);
  send(connection);
  assert.deepEqual([held.length, input.bytes], [2, 2 * frame.length]);
  again.hold = true;
  held[0]?.resolve(Status.success);
  connection.resume();
  assert.deepEqual([held.length, input.bytes], [3, 2 * frame.length]);
  again.hold = false;
  held[2]?.resolve(Status.success);
  connection.resume();
  assert.equal(input.bytes, frame.length);
  held[1]?.resolve(Status.success);
  connection.resume();
  assert.equal(input.bytes, 0);
});

test('the memory of frames that wait for the disk is released with their connection', () => {
  const { connection, input } = aConnection();
  send(connection);
  connection.gone();
  assert.equal(input.bytes, 0);
});

const { frameMs, passiveMs } = connectionLimits;

test('a client that sends no more of a large frame loses its connection once another request waits for the memory', () => {
  const input = new InputBudget({ perUser: frame.length, total: 2 * frame.length });
  const first = aConnection(input);
  first.connection.received(frame, 0, 100);
  first.connection.sweep(1);
  first.connection.sweep(2 * passiveMs);
  assert.equal(first.socket.isDestroyed, false, 'nobody waits');
  const second = aConnection(input);
  second.connection.received(frame, 0, 100);
  first.connection.received(frame, 100, 200);
  first.connection.sweep(2 * passiveMs);
  first.connection.sweep(3 * passiveMs);
  assert.equal(first.socket.isDestroyed, false, 'it has sent bytes');
  second.connection.sweep(3 * passiveMs);
  first.connection.sweep(3 * passiveMs + 1);
  assert.deepEqual([first.socket.isDestroyed, second.socket.isDestroyed], [true, false]);
});

test('a client whose large frame waits for the disk keeps its connection while another request waits for the memory, for a limited time', () => {
  const input = new InputBudget({ perUser: frame.length, total: 2 * frame.length });
  const first = aConnection(input);
  send(first.connection);
  const second = aConnection(input);
  second.connection.received(frame, 0, 100);
  for (const { connection } of [first, second]) connection.sweep(1);
  for (const { connection } of [first, second]) connection.sweep(1 + 2 * passiveMs);
  assert.deepEqual(
    [first.held.length, first.socket.isDestroyed, second.socket.isDestroyed],
    [1, false, false],
  );
  for (const { connection } of [first, second]) connection.sweep(1 + frameMs);
  assert.deepEqual([first.socket.isDestroyed, second.socket.isDestroyed], [false, true]);
});

test('memory is wanted from users whose own limit a waiting request exceeds, and from all if it exceeds the limit of all', () => {
  const input = new InputBudget({ perUser: 10, total: 15 });
  const waiter = { roomFreed: () => {} };
  assert.ok(input.reserve('a', 10, waiter) && input.reserve('b', 1, waiter));
  assert.ok(!input.reserve('a', 1, waiter));
  assert.deepEqual([input.isWantedFrom('a'), input.isWantedFrom('b')], [true, false]);
  assert.ok(!input.reserve('b', 9, waiter));
  assert.equal(input.isWantedFrom('b'), true);
  input.discard(waiter);
  assert.deepEqual([input.isWantedFrom('a'), input.isWantedFrom('b')], [false, false]);
});
