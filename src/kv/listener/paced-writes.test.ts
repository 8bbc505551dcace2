// How many bytes the data thread writes to sockets in one turn of the event loop: counted with a clock on which each piece takes a millisecond.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SteppedClock } from '../../../test/support/stepped-clock.ts';
import { TurnClock, turnLimits } from '../turn-clock.ts';
import { PacedWrites, type PieceSocket, pieceBytes } from './paced-writes.ts';

const pieceMs = 1;
const largeBytes = 20 * 1024 * 1024;

/** A socket whose system accepts `roomBytes`, and more only when the test says so. */
class Peer implements PieceSocket {
  isGone = false;
  roomBytes = Number.POSITIVE_INFINITY;
  drains = 0;
  readonly writes: PacedWrites;
  private readonly clock: SteppedClock;
  private readonly parts: Buffer[] = [];
  private later: { bytes: Buffer; written: () => void } | null = null;

  constructor(clock: SteppedClock, turns: TurnClock) {
    this.clock = clock;
    this.writes = new PacedWrites(this, turns);
    this.writes.onDrained = () => this.drains++;
  }

  writeNow(bytes: Buffer, length: number): number {
    this.clock.spend(pieceMs);
    const accepted = Math.min(length, this.roomBytes);
    this.roomBytes -= accepted;
    this.parts.push(Buffer.from(bytes.subarray(0, accepted)));
    return accepted;
  }

  writeLater(bytes: Buffer, written: () => void): void {
    assert.equal(this.later, null, 'the stream got a second piece before it had written the first');
    assert.ok(bytes.length <= pieceBytes);
    this.later = { bytes, written };
  }

  get waits(): boolean {
    return this.later !== null;
  }

  /** The system accepts the waiting piece, and then up to `roomBytes` more. */
  accept(roomBytes: number): void {
    this.roomBytes = roomBytes;
    const { later } = this;
    this.later = null;
    if (later === null) return;
    this.parts.push(later.bytes);
    later.written();
  }

  get received(): Buffer {
    return Buffer.concat(this.parts);
  }

  get receivedBytes(): number {
    return this.parts.reduce((sum, { length }) => sum + length, 0);
  }
}

function aThread(count: number) {
  const clock = new SteppedClock();
  const turns = new TurnClock(clock);
  return { clock, peers: Array.from({ length: count }, () => new Peer(clock, turns)) };
}

const { turnMs, tasksMs } = turnLimits;
/** The clock is read only after each piece, so each of the two limits can be exceeded by one piece. */
const turnBytesMax = ((turnMs + tasksMs) / pieceMs + 2) * pieceBytes;

test('large outputs of all connections together occupy a turn for a limited time', async () => {
  const { clock, peers } = aThread(4);
  const large = Buffer.alloc(largeBytes);
  const sum = (): number => peers.reduce((total, { receivedBytes }) => total + receivedBytes, 0);
  for (const { writes } of peers) writes.write(large, large.length);
  let turns = 0;
  for (let before = 0; sum() < peers.length * largeBytes; turns++) {
    assert.ok(sum() - before <= turnBytesMax, `${sum() - before} bytes in a turn`);
    before = sum();
    await clock.turn();
    assert.ok(sum() > before, 'the writes do not continue');
  }
  assert.ok(turns > 1);
  for (const { drains, writes } of peers) assert.deepEqual([drains, writes.unsentBytes], [1, 0]);
});

test('sockets that become writable again in one turn share its time', async () => {
  const { clock, peers } = aThread(8);
  const large = Buffer.alloc(largeBytes);
  const sum = (): number => peers.reduce((total, { receivedBytes }) => total + receivedBytes, 0);
  for (const peer of peers) {
    peer.roomBytes = 0;
    peer.writes.write(large, large.length);
  }
  for (let turn = 0; sum() < peers.length * largeBytes; turn++) {
    const before = sum();
    let offered = 0;
    for (const peer of peers) {
      if (!peer.waits) continue;
      offered++;
      peer.accept(4 * 1024 * 1024);
    }
    await clock.turn();
    assert.ok(sum() - before <= turnBytesMax + offered * pieceBytes, `${sum() - before} bytes in a turn`);
    assert.ok(turn < 1000, 'the writes do not continue');
  }
});

test('outputs that are written while a large one waits are sent after it, in order and complete', async () => {
  const { clock, peers } = aThread(1);
  const peer = peers[0] as Peer;
  const outputs = [10, 3 * pieceBytes + 7, 20, pieceBytes, 2 * pieceBytes].map((bytes, at) =>
    Buffer.alloc(bytes, at + 1),
  );
  peer.roomBytes = 15;
  const output = Buffer.concat(outputs);
  for (const bytes of outputs) {
    const isReusable = peer.writes.write(bytes, bytes.length);
    assert.equal(isReusable, bytes.length < pieceBytes, 'only small outputs are accepted or copied at once');
    if (isReusable) bytes.fill(0xff);
  }
  assert.equal(peer.writes.unsentBytes, output.length - 15);
  while (peer.writes.unsentBytes > 0) {
    peer.accept(pieceBytes + 100);
    await clock.turn();
  }
  assert.ok(peer.received.equals(output));
  assert.equal(peer.drains, 1);
});

test('a small output is written at once, in one piece, also when the time of the turn is over', async () => {
  const { peers } = aThread(2);
  const [first, second] = peers as [Peer, Peer];
  assert.equal(first.writes.write(Buffer.alloc(largeBytes), largeBytes), false);
  assert.equal(second.writes.write(Buffer.alloc(64), 32), true);
  assert.equal(second.receivedBytes, 32);
});

test('what waits is dropped when the socket is gone', async () => {
  const { clock, peers } = aThread(1);
  const peer = peers[0] as Peer;
  peer.writes.write(Buffer.alloc(largeBytes), largeBytes);
  const before = peer.receivedBytes;
  peer.isGone = true;
  await clock.turn();
  assert.deepEqual([peer.receivedBytes, peer.writes.unsentBytes, peer.drains], [before, 0, 0]);
});

test('small outputs that wait are joined, in order', async () => {
  const { clock, peers } = aThread(1);
  const peer = peers[0] as Peer;
  peer.roomBytes = 0;
  const outputs = Array.from({ length: 300 }, (_, at) => Buffer.alloc(1000, at));
  for (const output of outputs) assert.equal(peer.writes.write(output, output.length), true);
  let writes = 0;
  for (; peer.writes.unsentBytes > 0; writes++) {
    peer.accept(0);
    await clock.turn();
  }
  assert.ok(peer.received.equals(Buffer.concat(outputs)));
  assert.ok(writes < 10, `${writes} writes`);
});
