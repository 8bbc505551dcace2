// Replies that are sent later than their requests were run: durable writes, which wait for the disk here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { Feature } from '#wire/features.ts';
import { RequestFrame } from '#wire/framing.ts';
import type { RequestParts } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { usualFeatures } from '../../../test/support/client-features.ts';
import { aDesired, persistToMajority, startService } from '../../../test/support/data-service.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { ownMemoryBytes } from '../data/documents.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';

const key = Buffer.from('\0k');
const set = (value: Buffer, overrides: Partial<RequestParts> = {}): RequestParts => ({
  opcode: Opcode.set,
  key,
  extras: Buffer.alloc(8),
  value,
  ...overrides,
});
const noop = { opcode: Opcode.noop };

/** A service whose disk, once `hold` is called, waits for `release`. */
async function aService(options: { clock?: ManualClock } = {}) {
  const [waits, released] = [deferred<void>(), deferred<void>()];
  let isHeld = false;
  const sync = async (): Promise<void> => {
    if (!isHeld) return;
    waits.resolve();
    await released.promise;
  };
  const service = await startService(aDesired(), { disk: new MemoryDisk({ sync }).engine(), ...options });
  return {
    service,
    hold: () => (isHeld = true),
    isWaiting: waits.promise,
    release: () => released.resolve(),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

test('a large document that is read by a durable write is sent only to its client', async () => {
  await using held = await aService();
  const [client, other] = [await held.service.ready(), await held.service.ready()];
  const value = Buffer.alloc(ownMemoryBytes, 'x');
  await client.ask(set(value));
  held.hold();
  client.send({
    opcode: Opcode.getAndTouch,
    key,
    extras: Buffer.from([0, 1, 0, 0]),
    framing: persistToMajority,
    opaque: 1,
  });
  await held.isWaiting;
  for (const opaque of [2, 3]) {
    const reply = await other.ask({ ...noop, opaque });
    assert.deepEqual([reply.opaque, reply.value.length], [opaque, 0]);
  }
  held.release();
  const reply = await client.next();
  assert.deepEqual([reply?.opaque, reply?.status, reply?.value.equals(value)], [1, Status.success, true]);
  assert.equal((await client.ask({ ...noop, opaque: 4 })).opaque, 4);
});

test('nothing overtakes a durable write with a barrier, although the client has unordered execution', async () => {
  await using held = await aService();
  const features = [...usualFeatures, Feature.unorderedExecution];
  const [client, other] = [await held.service.ready({ features }), await held.service.ready()];
  held.hold();
  const framing = Buffer.concat([persistToMajority, Buffer.from([RequestFrame.barrier << 4])]);
  client.send(set(key, { framing, opaque: 1 }), {
    opcode: Opcode.get,
    key: Buffer.from('\0none'),
    opaque: 2,
  });
  await held.isWaiting;
  // The client has all replies that were sent before this one.
  await other.ask(noop);
  held.release();
  assert.deepEqual([(await client.next())?.opaque, (await client.next())?.opaque], [1, 2]);
});

test('the server duration of a durable write includes the time until it is durable', async () => {
  const clock = new ManualClock();
  await using held = await aService({ clock });
  const client = await held.service.ready({ features: [...usualFeatures, Feature.tracing] });
  held.hold();
  client.send(set(key, { framing: persistToMajority }));
  await held.isWaiting;
  clock.advance(500);
  held.release();
  const reply = await client.next();
  const microseconds = (reply?.framing.readUInt16BE(1) ?? 0) ** 1.74 / 2;
  assert.ok(Math.abs(microseconds - 500_000) < 1_000, `${microseconds} µs`);
});

test('a client that logs in again has as much time as at first', async () => {
  const clock = new ManualClock();
  await using service = await startService(aDesired(), { clock });
  const client = await service.ready();
  // Each step longer than the interval of sweeps, all together longer than the time to log in.
  for (let step = 0; step < 10; step++) {
    clock.advance(5_000);
    assert.equal((await client.ask(noop)).status, Status.success);
  }
  const { finish } = await client.beginScram('SCRAM-SHA256', 'admin', 'password');
  for (let step = 0; step < 3; step++) {
    clock.advance(5_000);
    assert.equal((await client.ask(noop)).status, Status.success);
  }
  assert.equal((await finish()).reply.status, Status.success);
});
