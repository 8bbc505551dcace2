// Connections to other nodes over links of the test.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { aPeer, RecordingLink } from '../../../test/support/peer-connections.ts';
import { encodeFrame } from './frame-writer.ts';
import { heartbeatEveryMs, silentBeatsMax } from './peers.ts';

const hello = encodeFrame({ kind: 'hello', node: 'b', boot: 'b 1', saysPromise: true });

it('the loss of a connection that a new one replaces is reported, so that every feed is opened again', () => {
  const events: string[] = [];
  const peers = aPeer({
    connected: () => events.push('connected'),
    disconnected: () => events.push('disconnected'),
  });
  for (let connection = 0; connection < 2; connection++) {
    const link = new RecordingLink();
    peers.accept(link);
    link.handler?.data(hello);
  }
  assert.deepEqual(events, ['connected', 'disconnected', 'connected']);
  peers.close();
});

it('a node sends more once the other node has answered for all bytes, even if that node failed to apply them', () => {
  let hasRoom = 0;
  const peers = aPeer({ hasRoom: () => hasRoom++ });
  const link = new RecordingLink();
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
    awaitsDisk: false,
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

it('a connection whose messages break the protocol is closed, with the reason', () => {
  const beaten = { kind: 'beaten', wallMs: 0, promiseMs: 10_000 } as const;
  const clock = new ManualClock();
  const cases: Record<string, Buffer[]> = {
    'its certificate names another node': [encodeFrame({ kind: 'hello', node: 'c', boot: 'c 1' })],
    'its first message is not a hello': [encodeFrame({ ...beaten, sentMs: 0 })],
    'it says hello again': [hello, hello],
    'it answers a heartbeat that was not sent yet': [
      hello,
      encodeFrame({ ...beaten, sentMs: clock.monotonicMs() + 1 }),
    ],
    'the message "beaten": promiseMs must be a number between 0 and 10000': [
      hello,
      encodeFrame({ ...beaten, sentMs: 0, promiseMs: 10_001 }),
    ],
    'unknown form 9 of a frame': [hello, Buffer.from([0, 0, 0, 1, 9])],
  };
  const peers = aPeer({}, clock);
  for (const [reason, frames] of Object.entries(cases)) {
    const link = new RecordingLink();
    peers.accept(link);
    for (const frame of frames) link.handler?.data(frame);
    assert.equal(link.closedFor, reason);
    assert.equal(peers.servesUntilMs('b'), -Infinity, 'no promise was taken');
  }
  peers.close();
});

it('a connection on which no heartbeat or answer arrives any more is closed', () => {
  const clock = new ManualClock();
  const peers = aPeer({}, clock);
  const link = new RecordingLink();
  peers.accept(link);
  link.handler?.data(hello);
  const beats = (count: number): void => {
    for (let beat = 0; beat < count; beat++) clock.advance(heartbeatEveryMs);
  };
  beats(silentBeatsMax);
  link.handler?.data(encodeFrame({ kind: 'beat', sentMs: 0, wallMs: 0 }));
  beats(silentBeatsMax);
  assert.equal(link.closedFor, null);
  beats(1);
  assert.equal(link.closedFor, 'the other node is silent');
  peers.close();
});
