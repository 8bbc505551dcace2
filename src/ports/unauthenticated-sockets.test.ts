import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { handleShares } from './handles.ts';
import { handshakeMs, isKnown, Strangers } from './strangers.ts';

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

test('one source has so many connections of clients that have not logged in, and all together', () => {
  const strangers = new Strangers(() => ({ perSource: 2, total: 3 }), new ManualClock());
  const [first, second, third] = [from('10.0.0.1'), from('::ffff:10.0.0.1'), from('10.0.0.1')];
  assert.deepEqual(
    [first, second, third].map((socket) => strangers.enter(socket)),
    [true, true, false],
  );
  assert.ok(third.destroyed);
  assert.ok(strangers.enter(from('10.0.0.2')));
  assert.ok(!strangers.enter(from('10.0.0.2')), 'all together');
  isKnown(first);
  isKnown(first);
  assert.equal(strangers.total, 2);
  first.destroy();
  assert.equal(strangers.total, 2, 'a client that was known is not subtracted again');
  second.destroy();
  assert.ok(strangers.enter(from('10.0.0.1')));
});

test('where there are too many in all, the source with most of them loses its oldest to one with fewer', () => {
  const strangers = new Strangers(() => ({ perSource: 3, total: 4 }), new ManualClock());
  const crowd = [from('10.0.0.1'), from('10.0.0.1'), from('10.0.0.1'), from('10.0.0.2')];
  for (const socket of crowd) assert.ok(strangers.enter(socket));
  const newcomer = from('10.0.0.3');
  assert.ok(strangers.enter(newcomer));
  assert.deepEqual(
    crowd.map(({ destroyed }) => destroyed),
    [true, false, false, false],
  );
  assert.equal(strangers.total, 4);
  isKnown(newcomer);
  assert.ok(strangers.enter(from('10.0.0.4')), 'a client that logged in has made room');
  assert.ok(!strangers.enter(from('10.0.0.4')), 'no source has two more');
  assert.equal(newcomer.destroyed, false);
});

test('an IPv6 network is one source', () => {
  const strangers = new Strangers(() => ({ perSource: 1, total: 9 }), new ManualClock());
  assert.ok(strangers.enter(from('2001:db8:1:2::1')));
  assert.ok(!strangers.enter(from('2001:db8:1:2:ffff::7')));
  assert.ok(strangers.enter(from('2001:db8:1:3::1')));
});

test('a handshake of TLS ends after half a minute, whatever is sent meanwhile', () => {
  const clock = new ManualClock();
  const strangers = new Strangers(() => ({ perSource: 9, total: 9 }), clock);
  const [slow, fast] = [from('10.0.0.1'), from('10.0.0.2')];
  for (const socket of [slow, fast]) assert.ok(strangers.enterHandshake(socket));
  clock.advance(handshakeMs - 1);
  assert.ok(!slow.destroyed);
  const secured = new FakeSocket('10.0.0.2', fast.remotePort) as unknown as Socket;
  strangers.handshaken(secured);
  clock.advance(1);
  assert.deepEqual([slow.destroyed, fast.destroyed], [true, false]);
  assert.equal(strangers.total, 1);
  isKnown(secured);
  assert.equal(strangers.total, 0);
});

test('files, administrators and data clients have their shares of the handles', () => {
  for (const limit of [64, 256, 1024, 20_000, 1_048_576]) {
    const { data, rest } = handleShares(limit);
    assert.ok(data >= 16 && rest >= 16);
    const left = limit - data - rest;
    assert.ok(left >= Math.min(2048, limit / 4), `${limit}: ${data} and ${rest}`);
  }
  assert.deepEqual(handleShares(1024), { data: 640, rest: 128 });
});
