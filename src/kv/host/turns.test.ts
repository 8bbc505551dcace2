// How long requests occupy the data thread in one turn: counted in requests that cost a millisecond each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClientGate } from '#ports/client-gate.ts';
import { silentLog } from '#ports/log.ts';
import type { Frame } from '#wire/frame.ts';
import { encodeRequest, Output } from '#wire/output.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { SteppedClock } from '../../../test/support/stepped-clock.ts';
import { noTraffic } from '../activity.ts';
import { Connection, type ConnectionHost } from '../connection/connection.ts';
import { connectionLimits } from '../connection/connection-limits.ts';
import { InputBudget } from '../connection/input-budget.ts';
import type { Transport } from '../connection/transport.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import { AfterFrame } from '../dispatch/request.ts';
import { Directory } from '../served/directory.ts';
import type { Client } from '../session/client.ts';
import { TurnClock, turnLimits } from '../turn-clock.ts';
import { Clients } from './clients.ts';

const requestMs = 1;
const value = Buffer.alloc(60 * 1024);

/** A client that has sent requests, each of which arrives in a read of its own. */
class Sender {
  readonly answered: number[] = [];
  readonly connection: Connection;
  private readonly chunks: Buffer[];
  mayRead = true;

  constructor(host: ConnectionHost, count: number) {
    const nothing = (): void => {};
    const transport: Transport = {
      write: () => true,
      unsentBytes: 0,
      markAuthenticated: nothing,
      end: nothing,
      destroy: nothing,
      pause: () => {
        this.mayRead = false;
      },
      resume: () => {
        this.mayRead = true;
      },
    };
    this.connection = new Connection(host, transport, 'test');
    this.connection.setAuthenticated(true);
    this.chunks = Array.from({ length: count }, (_, opaque) =>
      encodeRequest({ opcode: Opcode.set, opaque, key: Buffer.from('k'), extras: Buffer.alloc(8), value }),
    );
  }

  /** Reads as the event loop does: until there is nothing more or the connection stops it. */
  read(): void {
    while (this.mayRead && this.chunks.length > 0) {
      const chunk = this.chunks.shift() as Buffer;
      this.mayRead = this.connection.received(chunk, 0, chunk.length);
    }
  }
}

function aThread() {
  const clock = new SteppedClock();
  const turns = new TurnClock(clock);
  const tick = (): void => {};
  const { log, traffic, gate } = { log: silentLog, traffic: noTraffic(), gate: new ClientGate() };
  const clients = new Clients({ clock: turns, log, directory: new Directory(), gate, traffic, tick });
  const senders: Sender[] = [];
  const dispatcher = {
    request: { workBytes: 0 },
    run: (connection: Client, frame: Frame) => {
      clock.spend(requestMs);
      senders.find((sender) => sender.connection === connection)?.answered.push(frame.opaque);
      return AfterFrame.continue;
    },
  };
  const host: ConnectionHost = {
    dispatcher: dispatcher as unknown as Dispatcher,
    output: new Output(),
    input: new InputBudget(connectionLimits.input),
    traffic,
    turns,
    tick,
    nowMs: () => clock.monotonicMs(),
    wake: (connection) => clients.wake(connection),
    discard: () => {},
  };
  return { clock, host, senders };
}

test('requests of all connections together occupy a turn for a limited time, in fair shares and in order', async () => {
  const { clock, host, senders } = aThread();
  const count = 40;
  for (let sender = 0; sender < 4; sender++) senders.push(new Sender(host, count));
  const answered = (): number[] => senders.map((sender) => sender.answered.length);
  const sum = (): number => answered().reduce((total, each) => total + each, 0);
  let longest = 0;
  for (let turn = 1; sum() < 4 * count; turn++) {
    const before = sum();
    for (const sender of senders) sender.read();
    await clock.turn();
    longest = Math.max(longest, sum() - before);
    if (turn === 8) for (const each of answered()) assert.ok(each >= 4, `${answered()}`);
    if (turn > 1000) throw new Error('the connections do not continue');
  }
  const { turnMs, tasksMs } = turnLimits;
  // The clock is read after each request: the requests at the begin of a turn and the deferred ones may each be one more than fit.
  assert.ok(longest * requestMs <= turnMs + tasksMs + 2, `${longest}`);
  for (const sender of senders) {
    assert.equal(sender.answered.length, count);
    assert.deepEqual(
      sender.answered,
      Array.from({ length: count }, (_, opaque) => opaque),
    );
  }
});

test('a client with one request is served between those of a client with many', async () => {
  const { clock, host, senders } = aThread();
  const many = new Sender(host, 200);
  const one = new Sender(host, 1);
  senders.push(many, one);
  many.read();
  one.read();
  await clock.turn();
  await clock.turn();
  assert.deepEqual(one.answered, [0]);
  assert.ok(many.answered.length < 20, `${many.answered.length}`);
});

test('a large request that arrives in many reads shares the time of each turn with requests of other clients', async () => {
  const { clock, host, senders } = aThread();
  const bytes = encodeRequest({
    opcode: Opcode.set,
    opaque: 7,
    key: Buffer.from('k'),
    value: Buffer.alloc(20 * 2 ** 20),
  });
  const readBytes = 256 * 1024;
  const sender = new Sender(host, 0);
  senders.push(sender);
  let reads = 0;
  for (let at = 0; at < bytes.length; ) {
    const before = reads;
    // The event loop reads while it may; a read takes a millisecond.
    for (let mayRead = sender.mayRead; mayRead && at < bytes.length; reads++, at += readBytes) {
      clock.spend(1);
      mayRead = sender.connection.received(bytes, at, Math.min(at + readBytes, bytes.length));
    }
    assert.ok(reads - before <= turnLimits.turnMs + 1, `${reads - before} reads in a turn`);
    sender.mayRead = false;
    await clock.turn();
  }
  while (sender.answered.length === 0 && clock.hasDeferred) await clock.turn();
  assert.deepEqual(sender.answered, [7]);
});
