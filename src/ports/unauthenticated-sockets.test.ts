import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { handleShares } from './handles.ts';
import { handshakeMs, markAuthenticated, UnauthenticatedSockets } from './unauthenticated-sockets.ts';

let port = 1000;

class FakeSocket extends EventEmitter {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localPort = 11207;
  destroyed = false;

  constructor(remoteAddress: string, remotePort = port++) {
    super();
    this.remoteAddress = remoteAddress;
    this.remotePort = remotePort;
  }

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit('close');
  }
}

const from = (address: string): Socket => new FakeSocket(address) as unknown as Socket;

test('the connections of clients without a login are limited for each source and in all', () => {
  const unauthenticated = new UnauthenticatedSockets(() => ({ perSource: 2, total: 3 }), new ManualClock());
  const [first, second, third] = [from('10.0.0.1'), from('::ffff:10.0.0.1'), from('10.0.0.1')];
  assert.deepEqual(
    [first, second, third].map((socket) => unauthenticated.enter(socket)),
    [true, true, false],
  );
  assert.ok(third.destroyed);
  assert.ok(unauthenticated.enter(from('10.0.0.2')));
  assert.ok(!unauthenticated.enter(from('10.0.0.2')), 'the total limit');
  markAuthenticated(first);
  markAuthenticated(first);
  assert.equal(unauthenticated.total, 2);
  first.destroy();
  assert.equal(unauthenticated.total, 2, 'an authenticated client is not subtracted again');
  second.destroy();
  assert.ok(unauthenticated.enter(from('10.0.0.1')));
});

test('at the total limit the source with the most connections loses its oldest one to a source with fewer', () => {
  const unauthenticated = new UnauthenticatedSockets(() => ({ perSource: 3, total: 4 }), new ManualClock());
  const crowd = [from('10.0.0.1'), from('10.0.0.1'), from('10.0.0.1'), from('10.0.0.2')];
  for (const socket of crowd) assert.ok(unauthenticated.enter(socket));
  const newcomer = from('10.0.0.3');
  assert.ok(unauthenticated.enter(newcomer));
  assert.deepEqual(
    crowd.map(({ destroyed }) => destroyed),
    [true, false, false, false],
  );
  assert.equal(unauthenticated.total, 4);
  markAuthenticated(newcomer);
  assert.ok(unauthenticated.enter(from('10.0.0.4')), 'a login frees a place');
  assert.ok(!unauthenticated.enter(from('10.0.0.4')), 'no source has two more than this one');
  assert.equal(newcomer.destroyed, false);
});

test('with replacesOldest, a new connection at the total limit replaces the oldest one of the source with the most, which may be its own', () => {
  const limits = { perSource: 9, total: 3, replacesOldest: true };
  const unauthenticated = new UnauthenticatedSockets(() => limits, new ManualClock());
  const crowd = [from('10.0.0.1'), from('10.0.0.1'), from('10.0.0.2')];
  for (const socket of crowd) assert.ok(unauthenticated.enter(socket));
  const newcomers = [from('10.0.0.1'), from('10.0.0.2')];
  for (const socket of newcomers) assert.ok(unauthenticated.enter(socket));
  assert.deepEqual(
    [...crowd, ...newcomers].map(({ destroyed }) => destroyed),
    [true, true, false, false, false],
  );
  assert.equal(unauthenticated.total, 3);
});

test('an IPv6 network is one source', () => {
  const unauthenticated = new UnauthenticatedSockets(() => ({ perSource: 1, total: 9 }), new ManualClock());
  assert.ok(unauthenticated.enter(from('2001:db8:1:2::1')));
  assert.ok(!unauthenticated.enter(from('2001:db8:1:2:ffff::7')));
  assert.ok(unauthenticated.enter(from('2001:db8:1:3::1')));
});

test('a connection whose TLS handshake takes half a minute is closed, even if the client keeps sending', () => {
  const clock = new ManualClock();
  const unauthenticated = new UnauthenticatedSockets(() => ({ perSource: 9, total: 9 }), clock);
  const [slow, fast] = [from('10.0.0.1'), from('10.0.0.2')];
  for (const socket of [slow, fast]) assert.ok(unauthenticated.enterHandshake(socket));
  clock.advance(handshakeMs - 1);
  assert.ok(!slow.destroyed);
  const secured = new FakeSocket('10.0.0.2', fast.remotePort) as unknown as Socket;
  unauthenticated.handshakeEnded(secured);
  clock.advance(1);
  assert.deepEqual([slow.destroyed, fast.destroyed], [true, false]);
  assert.equal(unauthenticated.total, 1);
  markAuthenticated(secured);
  assert.equal(unauthenticated.total, 0);
});

test('the handles are divided between files, REST connections and data connections', () => {
  for (const limit of [64, 256, 1024, 20_000, 1_048_576]) {
    const { data, rest } = handleShares(limit);
    assert.ok(data >= 16 && rest >= 16);
    const left = limit - data - rest;
    assert.ok(left >= Math.min(2048, limit / 4), `${limit}: ${data} and ${rest}`);
  }
  assert.deepEqual(handleShares(1024), { data: 640, rest: 128 });
});
