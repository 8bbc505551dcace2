// Requests to another node over channels of the test.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import type { Channel } from '#replog/served/channel.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { Peers, silentMs } from './peers.ts';

/** Lets promises that wait for others resolve. */
const othersRun = () => new Promise((resolve) => setImmediate(resolve));

interface Sent {
  readonly id: number;
  readonly ask: string;
}

class TestChannel implements Channel {
  readonly sent: Sent[] = [];
  isClosed = false;
  private handler: Parameters<Channel['receive']>[0] | null = null;

  send(message: object): void {
    if (JSON.stringify(message).includes('too large')) throw new Error('the message is too large');
    this.sent.push(message as Sent);
  }

  receive(handler: Parameters<Channel['receive']>[0]): void {
    this.handler = handler;
  }

  deliver(message: unknown): void {
    this.handler?.message(message);
  }

  answer(ask: string): void {
    const id = this.sent.find((sent) => sent.ask === ask)?.id;
    this.handler?.message({ id, value: ask });
  }

  close(): void {
    this.isClosed = true;
    this.handler?.closed('closed');
  }
}

function peersOf() {
  const clock = new ManualClock();
  const channels: TestChannel[] = [];
  const connect = async (): Promise<Channel> => {
    const channel = new TestChannel();
    channels.push(channel);
    return channel;
  };
  return { clock, channels, peers: new Peers({ connect, clock, log: silentLog }) };
}

test('a silent connection gets no further requests, and is closed after the last answer that is due', async () => {
  const { clock, channels, peers } = peersOf();
  const long = peers.ask('b', 'long', null, 60_000);
  const short = assert.rejects(peers.ask('b', 'short', null, silentMs), /no answer in/);
  await othersRun();
  clock.advance(silentMs);
  await short;
  await othersRun();
  const next = peers.ask('b', 'next', null, 2_000);
  await othersRun();
  assert.deepEqual(
    channels.map(({ sent, isClosed }) => [sent.map(({ ask }) => ask), isClosed]),
    [
      [['long', 'short'], false],
      [['next'], false],
    ],
  );
  channels[0]?.answer('long');
  channels[1]?.answer('next');
  assert.deepEqual(await Promise.all([long, next]), ['long', 'next']);
  await othersRun();
  assert.deepEqual(
    channels.map(({ isClosed }) => isClosed),
    [true, false],
  );
  peers.stop();
});

test('a silent connection is used until another one is open: it may only be slow', async () => {
  const clock = new ManualClock();
  const channels: TestChannel[] = [];
  const results = [new TestChannel(), null, new TestChannel()];
  const connect = async (): Promise<Channel> => {
    const channel = results.shift();
    if (!channel) throw new Error('no answer in time');
    channels.push(channel);
    return channel;
  };
  const peers = new Peers({ connect, clock, log: silentLog });
  for (const [name, expected] of [
    ['first', ['first']],
    ['second', ['first', 'second']],
  ] as const) {
    const unanswered = assert.rejects(peers.ask('b', name, null, silentMs), /no answer in/);
    await othersRun();
    assert.deepEqual(
      channels.map(({ sent }) => sent.map(({ ask }) => ask)),
      [expected],
    );
    clock.advance(silentMs);
    await unanswered;
    await othersRun();
  }
  const third = peers.ask('b', 'third', null, 2_000);
  await othersRun();
  channels[1]?.answer('third');
  assert.equal(await third, 'third');
  assert.deepEqual(
    channels.map(({ isClosed }) => isClosed),
    [true, false],
  );
  peers.stop();
});

test('a connection with an answer in the meantime stays, although requests are not answered in time', async () => {
  const { clock, channels, peers } = peersOf();
  const first = peers.ask('b', 'first', null, 60_000);
  const late = assert.rejects(peers.ask('b', 'late', null, silentMs), /no answer in/);
  await othersRun();
  clock.advance(1);
  channels[0]?.answer('first');
  await first;
  clock.advance(silentMs - 1);
  await late;
  const next = peers.ask('b', 'next', null, 2_000);
  await othersRun();
  channels[0]?.answer('next');
  assert.equal(await next, 'next');
  assert.equal(channels.length, 1);
  peers.stop();
});

test('the loss of a connection rejects the requests that wait on it, and the next one connects again', async () => {
  const { channels, peers } = peersOf();
  const lost = assert.rejects(peers.ask('b', 'lost', null, 2_000), /closed/);
  await othersRun();
  channels[0]?.close();
  await lost;
  const next = peers.ask('b', 'next', null, 2_000);
  await othersRun();
  channels[1]?.answer('next');
  assert.equal(await next, 'next');
  const left = assert.rejects(peers.ask('b', 'left', null, 2_000), /it left the cluster/);
  await othersRun();
  peers.discardExcept((node) => node !== 'b');
  await left;
  await othersRun();
  assert.equal(channels[1]?.isClosed, true);
  peers.stop();
});

test('a node that cannot be reached rejects the requests with the reason, and the next one tries again', async () => {
  let attempts = 0;
  const connect = async (): Promise<Channel> => {
    attempts++;
    throw new Error('the port is closed');
  };
  const peers = new Peers({ connect, clock: new ManualClock(), log: silentLog });
  for (const _ of [1, 2])
    await assert.rejects(peers.ask('b', 'x', null, 2_000), { message: 'the port is closed' });
  assert.equal(attempts, 2);
  peers.stop();
});

test('a request that is too large fails alone', async () => {
  const { channels, peers } = peersOf();
  const other = peers.ask('b', 'other', null, 60_000);
  await assert.rejects(peers.ask('b', 'large', 'too large', 60_000), /the message is too large/);
  channels[0]?.answer('other');
  assert.equal(await other, 'other');
  peers.stop();
});

test('a message that is no request closes the connection on which it came', async () => {
  const peers = new Peers({ connect: () => assert.fail(), clock: new ManualClock(), log: silentLog });
  peers.answer('name', () => 'b');
  for (const message of [null, 'text', { id: 1 }]) {
    const channel = new TestChannel();
    peers.serve(channel, 'a');
    channel.deliver(message);
    await othersRun();
    assert.deepEqual([channel.isClosed, channel.sent.length], [message === null, message === null ? 0 : 1]);
  }
  peers.stop();
});
