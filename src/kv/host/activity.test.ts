// The counters of the data service match the operations of clients, over real sockets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { persistToMajority, startService } from '../../../test/support/data-service.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { Opcode } from '../../../test/support/opcodes.ts';

const key = (name: string, collection = 0) => Buffer.from([collection, ...Buffer.from(name)]);
const version = (cas: bigint) => ({ casHi: Number(cas >> 32n), casLo: Number(cas & 0xffffffffn) });
const set = (name: string, rest: object = {}) => ({
  opcode: Opcode.set,
  key: key(name),
  extras: Buffer.alloc(8),
  value: Buffer.from('{}'),
  ...rest,
});
const get = (name: string, collection = 0) => ({ opcode: Opcode.get, key: key(name, collection) });
const count = (opcode: number, name: string, expiry: number) => {
  const extras = Buffer.alloc(20);
  extras.writeUInt32BE(1, 4);
  extras.writeUInt32BE(expiry, 16);
  return { opcode, key: key(name), extras };
};

test('reads, writes, deletions and counters are counted by result', async () => {
  await using service = await startService();
  const client = await service.ready();
  const stored = await client.ask(set('k'));
  await client.ask(set('other'));
  for (let read = 0; read < 3; read++) await client.ask(get('k'));
  await client.ask(get('missing'));
  assert.equal((await client.ask(set('k', version(stored.cas)))).status, Status.success);
  assert.equal((await client.ask(set('k', version(stored.cas)))).status, Status.keyExists);
  assert.equal((await client.ask(set('missing', version(5n)))).status, Status.keyNotFound);
  await client.ask(count(Opcode.increment, 'n', 0));
  await client.ask(count(Opcode.increment, 'n', 0));
  await client.ask(count(Opcode.decrement, 'n', 0));
  assert.equal((await client.ask(count(Opcode.decrement, 'no', 0xffffffff))).status, Status.keyNotFound);
  await client.ask({ opcode: Opcode.delete, key: key('other') });
  await client.ask({ opcode: Opcode.delete, key: key('other') });
  await client.ask({ opcode: Opcode.getAndLock, key: key('k') });
  assert.equal((await client.ask(set('k'))).status, Status.locked);
  const [bucket] = (await service.service.report()).buckets;
  assert.ok(bucket);
  const { gets, getHits, sets, deletes, deleteMisses, increments, incrementMisses } = bucket;
  assert.deepEqual({ gets, getHits, sets }, { gets: 4, getHits: 3, sets: 3 });
  assert.deepEqual({ deletes, deleteMisses }, { deletes: 1, deleteMisses: 1 });
  assert.deepEqual({ increments, incrementMisses }, { increments: 1, incrementMisses: 1 });
  const { decrements, decrementMisses, casHits, casMisses, casBadValues, lockErrors, ops } = bucket;
  assert.deepEqual({ decrements, decrementMisses }, { decrements: 1, decrementMisses: 1 });
  assert.deepEqual({ casHits, casMisses, casBadValues }, { casHits: 1, casMisses: 1, casBadValues: 1 });
  assert.equal(lockErrors, 1);
  // Reads, writes, deletions, increments and decrements: misses count, refused writes do not.
  assert.equal(ops, 4 + 3 + 2 + 2 + 2);
});

test('operations are counted by collection', async () => {
  await using service = await startService();
  const client = await service.ready();
  await client.ask(set('a', { key: key('a', 8) }));
  await client.ask(set('b', { key: key('b', 9) }));
  await client.ask(get('a', 8));
  await client.ask(get('a', 8));
  await client.ask(get('x', 0x55));
  const { activity } = (await service.service.report()).buckets[0]!;
  const of = (id: string) => [activity.collections[id]?.gets, activity.collections[id]?.sets];
  assert.deepEqual(
    [of('8'), of('9')],
    [
      [2, 1],
      [0, 1],
    ],
  );
  assert.deepEqual(
    Object.keys(activity.collections).sort(),
    ['8', '9'],
    'an unknown collection has counters',
  );
});

test('connections, logins and bytes are counted', async () => {
  await using service = await startService();
  const client = await service.ready();
  const before = (await service.service.report()).traffic;
  const request = set('k');
  await client.ask(request);
  const { traffic } = await service.service.report();
  assert.equal(traffic.readBytes - before.readBytes, 24 + 8 + 2 + 2);
  assert.equal(
    traffic.writtenBytes - before.writtenBytes,
    24 + 16,
    'the reply does not count with its mutation token',
  );
  assert.deepEqual([traffic.connections, traffic.logins, traffic.refusedLogins], [1, 1, 0]);
});

test('queued changes and durations of commits are counted', async () => {
  await using service = await startService();
  const client = await service.ready();
  const durable = { framing: persistToMajority };
  const bucket = async () => (await service.service.report()).buckets[0]!;
  // A new bucket first persists its collection manifest.
  await eventually(async () => assert.equal((await bucket()).dirtyItems, 0));
  const before = (await bucket()).activity;
  await client.ask(set('k', durable));
  const { activity, dirtyItems } = await bucket();
  assert.equal(activity.queued - before.queued, 1);
  assert.equal(dirtyItems, 0);
  const commits = activity.commit.counts.at(-1) ?? 0;
  assert.ok(commits >= 1, `${commits} commits`);
});
