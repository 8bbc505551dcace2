// Commands on documents, over a real socket.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Feature } from '#wire/features.ts';
import type { RequestParts } from '#wire/output.ts';
import { snappyCompress, snappyInflate } from '#wire/snappy.ts';
import { Datatype, Status } from '#wire/status.ts';
import { usualFeatures } from '../../../test/support/client-features.ts';
import { aBucket, aDesired, persistToMajority, startService } from '../../../test/support/data-service.ts';
import type { KvConnection } from '../../../test/support/kv-connection.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';
import { observeKeysMax } from './observe.ts';

const key = (name: string, collection = 0) => Buffer.concat([Buffer.from([collection]), Buffer.from(name)]);
const u32 = (...words: number[]) => {
  const buffer = Buffer.alloc(words.length * 4);
  for (const [index, word] of words.entries()) buffer.writeUInt32BE(word, index * 4);
  return buffer;
};
const set = (name: string, value: string | Buffer, overrides: Partial<RequestParts> = {}): RequestParts => ({
  opcode: Opcode.set,
  key: key(name),
  extras: u32(0xcafe, 0),
  value: Buffer.from(value),
  ...overrides,
});
const get = (name: string, overrides: Partial<RequestParts> = {}): RequestParts => ({
  opcode: Opcode.get,
  key: key(name),
  ...overrides,
});
const cas = (value: bigint) => ({ casHi: Number(value >> 32n), casLo: Number(value & 0xffffffffn) });
const bodyOf = async (connection: KvConnection, name: string) =>
  (await connection.ask(get(name))).value.toString();

test('a document is stored, read, replaced and deleted', async () => {
  await using service = await startService();
  const client = await service.ready();
  const stored = await client.ask(set('k', '{"a":1}'));
  assert.equal(stored.status, Status.success);
  assert.equal(stored.extras.length, 16);
  assert.notEqual(stored.cas, 0n);
  const read = await client.ask(get('k'));
  assert.deepEqual([read.value.toString(), read.datatype, read.cas], ['{"a":1}', 1, stored.cas]);
  assert.equal(read.extras.readUInt32BE(0), 0xcafe);
  assert.equal((await client.ask(set('k', 'x', { opcode: Opcode.add }))).status, Status.keyExists);
  assert.equal(
    (await client.ask(set('k', 'x', { opcode: Opcode.replace, casLo: 1 }))).status,
    Status.keyExists,
  );
  assert.equal(
    (await client.ask(set('k', 'x', { opcode: Opcode.replace, ...cas(stored.cas) }))).status,
    Status.success,
  );
  const raw = await client.ask(get('k'));
  assert.deepEqual([raw.value.toString(), raw.datatype], ['x', 0]);
  assert.equal((await client.ask({ opcode: Opcode.delete, key: key('k') })).status, Status.success);
  assert.equal((await client.ask(get('k'))).status, Status.keyNotFound);
  assert.equal((await client.ask({ opcode: Opcode.delete, key: key('k') })).status, Status.keyNotFound);
});

test('quiet commands reply only in case of errors, quiet reads only on a hit', async () => {
  await using service = await startService();
  const client = await service.ready();
  client.send(
    set('k', '1', { opcode: Opcode.setQuietly }),
    { opcode: Opcode.getQuietly, key: key('missing') },
    set('k', '2', { opcode: Opcode.addQuietly }),
    { opcode: Opcode.getQuietly, key: key('k'), opaque: 7 },
    { opcode: Opcode.deleteQuietly, key: key('missing') },
    { opcode: Opcode.noop, opaque: 8 },
  );
  const replies = [await client.next(), await client.next(), await client.next(), await client.next()];
  assert.deepEqual(
    replies.map((reply) => [reply?.opcode, reply?.status]),
    [
      [Opcode.addQuietly, Status.keyExists],
      [Opcode.getQuietly, 0],
      [Opcode.deleteQuietly, Status.keyNotFound],
      [Opcode.noop, 0],
    ],
  );
});

test('a counter wraps around when it is incremented, ends at zero when decremented, and is created only if requested', async () => {
  await using service = await startService();
  const client = await service.ready();
  const count = (opcode: number, delta: number, initial: number, expiry: number) =>
    client.ask({ opcode, key: key('n'), extras: u32(0, delta, 0, initial, expiry) });
  assert.equal((await count(Opcode.increment, 1, 1, 0xffffffff)).status, Status.keyNotFound);
  assert.equal((await count(Opcode.increment, 1, 40, 0)).value.readBigUInt64BE(), 40n);
  const counted = await count(Opcode.increment, 2, 0, 0);
  assert.equal(counted.value.readBigUInt64BE(), 42n);
  assert.equal(counted.extras.length, 16);
  assert.equal((await count(Opcode.decrement, 50, 0, 0)).value.readBigUInt64BE(), 0n);
  assert.equal(await bodyOf(client, 'n'), '0');
  await client.ask(set('n', String(2n ** 64n - 1n)));
  assert.equal((await count(Opcode.increment, 2, 0, 0)).value.readBigUInt64BE(), 1n);
  await client.ask(set('n', 'abc'));
  assert.equal((await count(Opcode.increment, 1, 0, 0)).status, Status.deltaBadValue);
});

test('bytes are put behind and in front of the stored value, whose flags stay', async () => {
  await using service = await startService();
  const client = await service.ready();
  const concat = (opcode: number, value: string) =>
    client.ask({ opcode, key: key('k'), value: Buffer.from(value) });
  assert.equal((await concat(Opcode.append, 'x')).status, Status.notStored);
  await client.ask(set('k', 'b'));
  assert.equal((await concat(Opcode.append, 'c')).status, Status.success);
  assert.equal((await concat(Opcode.prepend, 'a')).status, Status.success);
  const read = await client.ask(get('k'));
  assert.deepEqual([read.value.toString(), read.extras.readUInt32BE(0)], ['abc', 0xcafe]);
});

test('a locked document hides its CAS, refuses writes, and accepts one with the CAS of the lock', async () => {
  await using service = await startService();
  const client = await service.ready();
  await client.ask(set('k', 'v'));
  const locked = await client.ask({ opcode: Opcode.getAndLock, key: key('k'), extras: u32(20) });
  assert.equal(locked.status, Status.success);
  assert.equal((await client.ask(get('k'))).cas, 0xffffffffffffffffn);
  assert.equal((await client.ask({ opcode: Opcode.getAndLock, key: key('k') })).status, Status.locked);
  assert.equal((await client.ask(set('k', 'w'))).status, Status.locked);
  assert.equal((await client.ask({ opcode: Opcode.unlock, key: key('k'), casLo: 1 })).status, Status.locked);
  assert.equal(
    (await client.ask({ opcode: Opcode.unlock, key: key('k'), ...cas(locked.cas) })).status,
    Status.success,
  );
  const again = { opcode: Opcode.unlock, key: key('k'), ...cas(locked.cas) };
  assert.equal((await client.ask(again)).status, Status.temporaryFailure);
  for (const since76 of [Feature.dedupeNotMyVbucket, Feature.clustermapPushBrief]) {
    const newer = await service.ready({ features: [...usualFeatures, Feature.duplex, since76] });
    assert.equal((await newer.ask(again)).status, Status.notLocked);
  }
  assert.equal((await client.ask(set('k', 'w'))).status, Status.success);
});

test('GET_META shows the expiry that touch and get-and-touch set, and that a document is deleted', async () => {
  await using service = await startService();
  const client = await service.ready();
  await client.ask(set('k', '{}'));
  assert.equal(
    (await client.ask({ opcode: Opcode.touch, key: key('k'), extras: u32(2_000_000_000) })).status,
    0,
  );
  const meta = await client.ask({ opcode: Opcode.getMeta, key: key('k'), extras: Buffer.from([2]) });
  assert.equal(meta.extras.length, 21);
  assert.deepEqual(
    [meta.extras.readUInt32BE(0), meta.extras.readUInt32BE(8), meta.extras[20]],
    [0, 2_000_000_000, 1],
  );
  const touched = await client.ask({ opcode: Opcode.getAndTouch, key: key('k'), extras: u32(0) });
  assert.equal(touched.value.toString(), '{}');
  await client.ask({ opcode: Opcode.delete, key: key('k') });
  const ofDeleted = await client.ask({ opcode: Opcode.getMeta, key: key('k'), extras: Buffer.from([2]) });
  assert.deepEqual([ofDeleted.status, ofDeleted.extras.readUInt32BE(0)], [0, 1]);
  assert.equal((await client.ask({ opcode: Opcode.getMeta, key: key('never') })).status, Status.keyNotFound);
});

test('a compressed value is stored as it is, and inflated for clients without compression', async () => {
  await using service = await startService();
  const client = await service.ready();
  const text = Buffer.from(JSON.stringify({ text: 'abc'.repeat(500) }));
  const block = snappyCompress(text, 0, text.length);
  assert.equal((await client.ask(set('k', block, { datatype: Datatype.snappy }))).status, Status.success);
  const same = await client.ask(get('k'));
  assert.deepEqual([same.datatype, same.value.equals(block)], [3, true]);
  const plain = await service.ready({ features: [Feature.xerror, Feature.json, Feature.collections] });
  const inflated = await plain.ask(get('k'));
  assert.deepEqual([inflated.datatype, inflated.value.equals(text)], [1, true]);
  assert.equal(
    (await plain.ask(set('k', block, { datatype: Datatype.snappy }))).status,
    Status.invalidArguments,
  );
  assert.equal(
    (await client.ask(set('k', 'not snappy', { datatype: Datatype.snappy }))).status,
    Status.invalidArguments,
  );
  assert.equal(
    (await client.ask({ opcode: Opcode.append, key: key('k'), value: Buffer.from('!') })).status,
    0,
  );
  const longer = await client.ask(get('k'));
  assert.equal(longer.value.toString(), `${text}!`);
  assert.ok(snappyInflate(block, 0, block.length, 1e6));
});

test('a compressed value that inflates above the limit of documents is refused', async () => {
  await using service = await startService();
  const client = await service.ready();
  const claim = Buffer.from([0xff, 0xff, 0xff, 0x7f, 0]);
  assert.equal((await client.ask(set('k', claim, { datatype: Datatype.snappy }))).status, Status.tooBig);
});

test('a body above 20 MiB is refused, and one of 20 MiB stored', async () => {
  await using service = await startService();
  const client = await service.ready();
  const bytes = 20 * 1024 * 1024;
  assert.equal((await client.ask(set('k', Buffer.alloc(bytes + 1, 1)))).status, Status.tooBig);
  assert.equal((await client.ask(set('k', Buffer.alloc(bytes, 1)))).status, Status.success);
  assert.equal((await client.ask(get('k'))).value.length, bytes);
});

test('a durable write is answered once it is persisted, and replies stay in order', async () => {
  await using service = await startService();
  const client = await service.ready();
  const durable = { framing: persistToMajority, opaque: 1 };
  client.send(set('k', 'v', durable), get('k', { opaque: 2 }), { opcode: Opcode.noop, opaque: 3 });
  const replies = [await client.next(), await client.next(), await client.next()];
  assert.deepEqual(
    replies.map((reply) => [reply?.opaque, reply?.status]),
    [
      [1, 0],
      [2, 0],
      [3, 0],
    ],
  );
  assert.equal(replies[0]?.extras.length, 16);
  assert.notEqual(replies[0]?.cas, 0n);
  const refused = await client.ask(set('k', 'v', { framing: Buffer.from([0x11, 4]) }));
  assert.equal(refused.status, Status.durabilityInvalidLevel);
  assert.equal(
    (await client.ask(get('k', { framing: Buffer.from([0x11, 1]) }))).status,
    Status.invalidArguments,
  );
  assert.equal(
    (await client.ask(set('k', 'v', { framing: Buffer.from([0x45, 1, 2, 3, 4, 5]) }))).status,
    Status.noAccess,
  );
});

test('with unordered execution, reads overtake a durable write until a barrier', async () => {
  let release = () => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  let isHeld = false;
  const disk = new MemoryDisk({ sync: () => (isHeld ? gate : Promise.resolve()) });
  await using service = await startService(undefined, { disk: disk.engine() });
  const client = await service.ready({
    features: [
      Feature.mutationSeqno,
      Feature.xerror,
      Feature.json,
      Feature.unorderedExecution,
      Feature.altRequest,
      Feature.syncReplication,
      Feature.collections,
    ],
  });
  await client.ask(set('other', '1'));
  isHeld = true;
  client.send(
    set('k', 'v', { framing: persistToMajority, opaque: 1 }),
    get('other', { opaque: 2 }),
    get('k', { opaque: 3 }),
    get('k', { opaque: 4, framing: Buffer.from([0x00]) }),
  );
  assert.deepEqual([(await client.next())?.opaque, (await client.next())?.status], [2, Status.keyNotFound]);
  release();
  isHeld = false;
  const resolved = await client.next();
  const behind = await client.next();
  assert.deepEqual(
    [resolved?.opaque, resolved?.status, behind?.opaque, behind?.value.toString()],
    [1, 0, 4, 'v'],
  );
});

test('the reply for a vbucket that the node does not serve is NOT_MY_VBUCKET with the configuration', async () => {
  await using service = await startService();
  const client = await service.ready();
  const reply = await client.ask(get('k', { vb: 5000 }));
  assert.deepEqual([reply.status, reply.datatype], [Status.notMyVbucket, 1]);
  assert.equal((JSON.parse(reply.value.toString()) as { name: string }).name, 'b');
});

test('counters on a locked document are refused, for any value of the document', async () => {
  await using service = await startService();
  const client = await service.ready();
  await client.ask(set('n', '{}'));
  await client.ask({ opcode: Opcode.getAndLock, key: key('n') });
  const counted = await client.ask({ opcode: Opcode.increment, key: key('n'), extras: u32(0, 1, 0, 1, 0) });
  assert.equal(counted.status, Status.locked);
});

test('GET_ALL_VB_SEQNOS lists the highest seqnos of a collection, after a restart too', async () => {
  await using service = await startService();
  const client = await service.ready();
  const inCollection = { key: key('k', 8), framing: persistToMajority };
  const stored = await client.ask(set('k', '1', inCollection));
  const later = await client.ask(set('k', '1', { framing: persistToMajority }));
  const seqnoOf = ({ extras }: { extras: Buffer }) => extras.readBigUInt64BE(8);
  const seqnos = async (from: KvConnection, ...extras: number[]) =>
    (await from.ask({ opcode: Opcode.getAllVbSeqnos, extras: u32(...extras) })).value.readBigUInt64BE(2);
  const check = async (from: KvConnection) => {
    assert.equal(await seqnos(from, 1, 8), seqnoOf(stored));
    assert.equal(await seqnos(from, 1, 9), 0n);
    assert.equal(await seqnos(from, 1, 0), seqnoOf(later));
    assert.equal(await seqnos(from), seqnoOf(later));
  };
  await check(client);
  const removed = await client.ask({ opcode: Opcode.delete, ...inCollection });
  assert.equal(await seqnos(client, 1, 8), seqnoOf(removed));
  const plain = await service.ready({ features: [Feature.xerror] });
  assert.equal(await seqnos(plain), seqnoOf(later));
  await service.service.apply(aDesired({ buckets: [aBucket('b', { evictionPolicy: 'fullEviction' })] }));
  assert.equal(await seqnos(client, 1, 8), seqnoOf(removed), 'after a restart of the bucket');
  assert.equal(await seqnos(plain), seqnoOf(later));
});

test('GET_ALL_VB_SEQNOS refuses an unknown collection', async () => {
  await using service = await startService();
  const client = await service.ready();
  assert.equal(
    (await client.ask({ opcode: Opcode.getAllVbSeqnos, extras: u32(1, 8) })).status,
    Status.success,
  );
  assert.equal(
    (await client.ask({ opcode: Opcode.getAllVbSeqnos, extras: u32(1, 99) })).status,
    Status.unknownCollection,
  );
});

test('OBSERVE takes many keys in one request, up to a limit', async () => {
  await using service = await startService();
  const client = await service.ready();
  await client.ask(set('k', '1', { framing: persistToMajority }));
  const ask = (count: number, id = 0, vb = 0) => {
    const observed = Buffer.concat([Buffer.from([vb >> 8, vb & 255, 0, 2]), key('k', id)]);
    return client.ask({
      opcode: Opcode.observe,
      value: Buffer.concat(Array.from({ length: count }, () => observed)),
    });
  };
  const reply = await ask(observeKeysMax);
  const { value: state } = await ask(1);
  assert.equal(state.length, 15);
  assert.deepEqual([reply.status, reply.value], [Status.success, Buffer.alloc(observeKeysMax * 15, state)]);
  assert.equal((await ask(observeKeysMax + 1)).status, Status.invalidArguments);
  assert.equal((await ask(2, 99)).status, Status.unknownCollection);
  assert.equal((await ask(2, 0, 5000)).status, Status.notMyVbucket);
  assert.equal((await client.ask({ opcode: Opcode.noop })).status, Status.success);
});

test('a client observes seqnos and keys, and gets the failover log', async () => {
  await using service = await startService();
  const client = await service.ready();
  const stored = await client.ask(set('k', 'v', { framing: persistToMajority }));
  const uuid = stored.extras.subarray(0, 8);
  const seqno = stored.extras.readBigUInt64BE(8);
  const observed = await client.ask({ opcode: Opcode.observeSeqno, value: uuid });
  assert.deepEqual([observed.value.length, observed.value[0]], [27, 0]);
  assert.ok(observed.value.subarray(3, 11).equals(uuid));
  assert.deepEqual([observed.value.readBigUInt64BE(11), observed.value.readBigUInt64BE(19)], [seqno, seqno]);
  assert.equal(
    (await client.ask({ opcode: Opcode.observeSeqno, value: Buffer.alloc(8, 1) })).status,
    Status.keyNotFound,
  );
  const log = await client.ask({ opcode: Opcode.getFailoverLog });
  assert.ok(log.value.subarray(0, 8).equals(uuid));
  const name = key('k');
  const head = Buffer.from([0, 0, 0, name.length]);
  const state = await client.ask({ opcode: Opcode.observe, value: Buffer.concat([head, name]) });
  assert.equal(state.value[4 + name.length], 1);
  assert.equal(
    (await client.ask({ opcode: Opcode.seqnoPersistence, extras: u32(0, Number(seqno)) })).status,
    0,
  );
  assert.equal((await client.ask({ opcode: Opcode.getAllVbSeqnos })).value.length, 10240);
  const random = await client.ask({ opcode: Opcode.getRandomKey, extras: u32(0) });
  assert.deepEqual([random.key.toString(), random.value.toString()], ['\0k', 'v']);
});

test('keys in a cache bucket are accepted with and without the id of the default collection', async () => {
  await using service = await startService(aDesired({ buckets: [aBucket('b', { type: 'cache' })] }));
  const client = await service.ready();
  const plain = (name: string) => ({ key: Buffer.from(name) });
  assert.equal((await client.ask(set('', '1', plain('a')))).status, Status.success);
  assert.equal(await bodyOf(client, 'a'), '1');
  assert.equal((await client.ask(set('longer', '2'))).status, Status.success);
  assert.equal((await client.ask(get('', plain('longer')))).value.toString(), '2');
  assert.equal((await client.ask(set('', '3', plain('x'.repeat(251))))).status, Status.invalidArguments);
});
