// Streams that the server ends, or rolls back, whenever they are requested.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { DcpStreamRequest } from '#wire/commands/stream.ts';
import { EndReason, Message } from '#wire/dcp.ts';
import { Magic } from '#wire/frame.ts';
import { Status } from '#wire/status.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { eventually } from '../../test/support/node-process.ts';
import { adminAccount, SeenChanges } from '../../test/support/wire-clients.ts';
import { ChangeFollower } from './change-follower.ts';

const headerBytes = 24;

interface Answer {
  readonly magic: number;
  readonly opcode: number;
  readonly status?: number;
  readonly extras?: Buffer;
  readonly value?: Buffer;
}

/** `request`: the frame that is answered, whose opaque the answer has. */
function frameOf(request: Buffer, { magic, opcode, status = 0, extras, value }: Answer): Buffer {
  const body = Buffer.concat([extras ?? Buffer.alloc(0), value ?? Buffer.alloc(0)]);
  const header = Buffer.alloc(headerBytes);
  header.writeUInt8(magic, 0);
  header.writeUInt8(opcode, 1);
  header.writeUInt8(extras?.length ?? 0, 4);
  header.writeUInt16BE(status, 6);
  header.writeUInt32BE(body.length, 8);
  request.copy(header, 12, 12, 16);
  return Buffer.concat([header, body]);
}

const reply = (request: Buffer, status: number, value?: Buffer): Buffer =>
  frameOf(request, { magic: Magic.response, opcode: request.readUInt8(1), status, ...(value && { value }) });

/** A data port that admits every client, and answers requests for streams with `answer`. */
async function aPort(t: TestContext, answer: (request: Buffer) => Buffer[]) {
  const sockets = new Set<Socket>();
  const counted = { streams: 0 };
  const answerTo = (request: Buffer): Buffer[] => {
    if (request.readUInt8(1) !== DcpStreamRequest.opcode) return [reply(request, Status.success)];
    counted.streams++;
    return answer(request);
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    let unread = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      unread = Buffer.concat([unread, chunk]);
      while (unread.length >= headerBytes && unread.length >= headerBytes + unread.readUInt32BE(8)) {
        const bytes = headerBytes + unread.readUInt32BE(8);
        socket.write(Buffer.concat(answerTo(unread.subarray(0, bytes))));
        unread = unread.subarray(bytes);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const send = (frame: Buffer): void => {
    for (const socket of sockets) socket.write(frame);
  };
  return { port: (server.address() as AddressInfo).port, counted, send };
}

const historyOf = (uuid: bigint): Buffer => {
  const entry = Buffer.alloc(16);
  entry.writeBigUInt64BE(uuid);
  return entry;
};

const ended = (reason: number): Buffer => {
  const extras = Buffer.alloc(4);
  extras.writeUInt32BE(reason);
  return extras;
};

const opened = (request: Buffer): Buffer => reply(request, Status.success, historyOf(1n));

const endOf = (request: Buffer): Buffer =>
  frameOf(request, {
    magic: Magic.request,
    opcode: Message.streamEnd,
    extras: ended(EndReason.stateChanged),
  });

const answers: Readonly<Record<string, (request: Buffer) => Buffer[]>> = {
  'ends at once': (request) => [opened(request), endOf(request)],
  'is rolled back': (request) => [reply(request, Status.rollback, Buffer.alloc(8))],
};

const aFollower = (port: number, clock: ManualClock, handler: SeenChanges): ChangeFollower =>
  new ChangeFollower({
    address: { host: '127.0.0.1', port, timeoutMs: 60_000 },
    account: adminAccount,
    bucket: 'b',
    name: 'test',
    withXattrs: true,
    handler,
    vbuckets: [0],
    clock,
  });

for (const [name, answer] of Object.entries(answers)) {
  test(`a stream that ${name} again is requested after growing pauses`, async (t) => {
    const { port, counted } = await aPort(t, answer);
    const clock = new ManualClock();
    const seen = new SeenChanges();
    const follower = aFollower(port, clock, seen);
    follower.start();
    for (const [streams, pauseMs] of [
      [2, 20],
      [3, 40],
      [4, 80],
    ] as const) {
      await eventually(() => assert.equal(clock.pending, 1));
      clock.advance(pauseMs - 1);
      assert.deepEqual([clock.pending, counted.streams], [1, streams]);
      clock.advance(1);
    }
    await follower.stop();
    assert.deepEqual(seen.losses, []);
  });
}

test('a stream that ends after it has run for a while, without changes, is requested at once', async (t) => {
  const requests: Buffer[] = [];
  const { port, send } = await aPort(t, (request) => {
    requests.push(Buffer.from(request));
    return [opened(request)];
  });
  const clock = new ManualClock();
  const follower = aFollower(port, clock, new SeenChanges());
  follower.start();
  const requested = (count: number) => eventually(() => assert.equal(requests.length, count));
  const end = () => send(endOf(requests.at(-1) as Buffer));
  await requested(1);
  end();
  await requested(2);
  end();
  await eventually(() =>
    assert.equal(clock.pending, 1, 'the stream ended soon again, but there is no pause'),
  );
  clock.advance(20);
  await requested(3);
  clock.advance(60_000);
  end();
  await requested(4);
  assert.equal(clock.pending, 0);
  await follower.stop();
});

test('a follower that stops waits for the rollback of a stream that was requested again', async (t) => {
  const answers = [opened, (request: Buffer) => reply(request, Status.rollback, Buffer.alloc(8))];
  const requests: Buffer[] = [];
  const { port, send } = await aPort(t, (request) => {
    requests.push(Buffer.from(request));
    return [(answers[requests.length - 1] ?? opened)(request)];
  });
  const handler = new SlowRollbacks();
  const follower = aFollower(port, new ManualClock(), handler);
  follower.start();
  await eventually(() => assert.equal(handler.failoverLogs.size, 1));
  send(endOf(requests[0] as Buffer));
  await handler.begun.promise;
  const stopped = follower.stop().then(() => 'stopped');
  assert.equal(await Promise.race([stopped, nextTurns()]), 'rolling back');
  handler.goOn.resolve();
  assert.equal(await stopped, 'stopped');
});

class SlowRollbacks extends SeenChanges {
  readonly begun = deferred<void>();
  readonly goOn = deferred<void>();

  override rollback(): Promise<void> {
    this.begun.resolve();
    return this.goOn.promise;
  }
}

/** More turns of the event loop than a stop takes that waits for nothing. */
async function nextTurns(): Promise<string> {
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
  return 'rolling back';
}
