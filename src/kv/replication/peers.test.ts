// Connections to other nodes over links of the test.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { encodeFrame } from './frame-writer.ts';
import type { Link, LinkHandler } from './link.ts';
import { PeerConnections } from './peers.ts';

type Handler = LinkHandler;

/** A link whose end no node notices, as while a network drops every packet. */
class SilentLink implements Link {
  readonly node = 'b';
  readonly unsentBytes = 0;
  handler: Handler | null = null;
  send(): void {}
  close(): void {}
  receive(handler: Handler): void {
    this.handler = handler;
  }
}

const hello = encodeFrame({ kind: 'hello', node: 'b', boot: 'b 1', saysPromise: true });

it('reports the loss of a connection that a new one replaces, so that every feed is opened again', () => {
  const events: string[] = [];
  const peers = new PeerConnections({
    self: { node: 'a', boot: 'a 1' },
    clock: new ManualClock(),
    log: silentLog,
    connect: () => new Promise(() => {}),
    events: {
      connected: () => events.push('connected'),
      disconnected: () => events.push('disconnected'),
      arrived: () => {},
      received: () => {},
      hasRoom: () => {},
    },
  });
  peers.follow([{ node: 'b', host: '', port: 1 }]);
  for (let connection = 0; connection < 2; connection++) {
    const link = new SilentLink();
    peers.accept(link);
    link.handler?.data(hello);
  }
  assert.deepEqual(events, ['connected', 'disconnected', 'connected']);
  peers.close();
});

it('sends on after bytes that the other node did not apply, as after those that it applied', () => {
  let hasRoom = 0;
  const peers = new PeerConnections({
    self: { node: 'a', boot: 'a 1' },
    clock: new ManualClock(),
    log: silentLog,
    connect: () => new Promise(() => {}),
    events: {
      connected: () => {},
      disconnected: () => {},
      arrived: () => {},
      received: () => {},
      hasRoom: () => hasRoom++,
    },
  });
  peers.follow([{ node: 'b', host: '', port: 1 }]);
  const link = new SilentLink();
  peers.accept(link);
  link.handler?.data(hello);
  const shard = { bucket: 'b', shard: 0, epoch: 1 };
  const batch = {
    kind: 'batch',
    ...shard,
    vb: 0,
    start: 1,
    to: 1,
    end: 1,
    live: true,
    isAwaited: false,
  } as const;
  const body = new Uint8Array(16 * 1024 * 1024);
  peers.send('b', batch, body);
  assert.equal(peers.mayFeed('b'), false);
  const bytes = encodeFrame(batch, body).length;
  link.handler?.data(encodeFrame({ kind: 'failed', ...shard, rows: [], bytes }));
  assert.equal(peers.mayFeed('b'), true);
  assert.equal(hasRoom, 1);
  peers.close();
});
