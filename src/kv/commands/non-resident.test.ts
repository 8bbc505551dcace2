// Commands on documents whose values were evicted, over a real socket.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fullGrants } from '#auth/grants.ts';
import { type Grants, Privilege } from '#auth/privileges.ts';
import { deferred } from '#base/deferred.ts';
import type { DiskEngine } from '#kv/data/disk-engine.ts';
import { MemoryDisk } from '#kv/disk/memory-engine.ts';
import { RangeScanContinue, RangeScanCreate } from '#wire/commands/bucket.ts';
import { Feature } from '#wire/features.ts';
import type { RequestParts } from '#wire/output.ts';
import { Datatype, Status } from '#wire/status.ts';
import { usualFeatures } from '../../../test/support/client-features.ts';
import {
  aBucket,
  aDesired,
  aUser,
  startService,
  type TestService,
} from '../../../test/support/data-service.ts';
import type { KvConnection, Reply } from '../../../test/support/kv-connection.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { Opcode } from '../../../test/support/opcodes.ts';

const quotaBytes = 2 * 1024 * 1024;
/** Enough for the requests below, and twice the quota. */
const count = 1600;
const unordered = [...usualFeatures, Feature.unorderedExecution];

const key = (name: string) => Buffer.from(`\0${name}`);
const text = (i: number): string => JSON.stringify({ n: i, text: 'x'.repeat(2600) });
const get = (i: number, opcode: number = Opcode.get): RequestParts => ({
  opcode,
  key: key(`k${i}`),
  opaque: i,
});
const expiry = (seconds: number): Buffer => {
  const extras = Buffer.alloc(4);
  extras.writeUInt32BE(seconds);
  return extras;
};

/** A service with a bucket that contains several times its quota, and a client. */
async function overfull(
  features: readonly number[],
  evictionPolicy: 'valueOnly' | 'fullEviction' = 'valueOnly',
  disk: DiskEngine = new MemoryDisk().engine(),
): Promise<{ service: TestService; client: KvConnection }> {
  const buckets = [aBucket('b', { quotaBytes, evictionPolicy })];
  const service = await startService(aDesired({ buckets }), { disk });
  const client = await service.ready({ features });
  for (let i = 0; i < count; i++) {
    const set = {
      opcode: Opcode.set,
      key: key(`k${i}`),
      extras: Buffer.alloc(8),
      value: Buffer.from(text(i)),
    };
    for (let reply = await client.ask(set); reply.status !== Status.success; reply = await client.ask(set)) {
      assert.equal(reply.status, Status.temporaryFailure);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  return { service, client };
}

/** OBSERVE of documents and of as many keys that do not exist. */
async function observesMany(client: KvConnection): Promise<void> {
  const names = Array.from({ length: 1200 }, (_, i) => key(i % 2 === 0 ? `k${i}` : `none${i}`));
  const entries = names.map((name) => Buffer.concat([Buffer.from([0, 0, 0, name.length]), name]));
  const { status, value } = await client.ask({ opcode: Opcode.observe, value: Buffer.concat(entries) });
  assert.equal(status, Status.success);
  let at = 0;
  for (const [i, entry] of entries.entries()) {
    const stateAt = at + entry.length;
    assert.deepEqual(value.subarray(at, stateAt), entry);
    assert.equal(value[stateAt], i % 2 === 0 ? 1 : 0x80);
    at = stateAt + 9;
  }
  assert.equal(at, value.length);
}

async function replies(client: KvConnection, wanted: number): Promise<Reply[]> {
  const received: Reply[] = [];
  while (received.length < wanted) received.push((await client.next()) as Reply);
  return received;
}

for (const [name, features] of [
  ['in order', usualFeatures],
  ['out of order where the client allows it', unordered],
] as const) {
  test(`pipelined reads of documents on disk are answered ${name}`, async () => {
    const { service, client } = await overfull(features);
    await using _ = service;
    const wanted = Array.from({ length: 300 }, (_, i) => (i * 37) % count);
    client.send(...wanted.map((i) => get(i)));
    const received = await replies(client, wanted.length);
    for (const reply of received) {
      assert.equal(reply.status, Status.success);
      assert.equal(reply.value.toString(), text(reply.opaque));
    }
    const opaques = received.map(({ opaque }) => opaque);
    if (name === 'in order') assert.deepEqual(opaques, wanted);
    else assert.deepEqual(opaques.sort(), wanted.sort());
    const [report] = (await service.service.report()).buckets;
    assert.ok((report?.diskFetches ?? 0) > 100, `${report?.diskFetches} fetches`);
    assert.ok((report?.nonResident ?? 0) > count / 2);
    assert.deepEqual([report?.gets, report?.getHits], [wanted.length, wanted.length]);
  });
}

test('the value is fetched for every command that needs it; quiet commands stay quiet', async () => {
  const { service, client } = await overfull(usualFeatures);
  await using _ = service;
  const ask = (i: number, parts: Partial<RequestParts>): Promise<Reply> =>
    client.ask({ opcode: Opcode.get, key: key(`k${i}`), ...parts });
  const delta = Buffer.alloc(20);
  assert.equal(
    (await ask(1, { opcode: Opcode.getAndTouch, extras: expiry(100) })).value.toString(),
    text(1),
    'GAT',
  );
  assert.equal(
    (await ask(2, { opcode: Opcode.getAndLock, extras: expiry(15) })).value.toString(),
    text(2),
    'GETL',
  );
  assert.equal(
    (await ask(3, { opcode: Opcode.append, value: Buffer.from(' ') })).status,
    Status.success,
    'APPEND',
  );
  assert.equal((await ask(3, {})).value.toString(), `${text(3)} `);
  assert.equal(
    (await ask(4, { opcode: Opcode.increment, extras: delta })).status,
    Status.deltaBadValue,
    'INCR',
  );
  const path = { extras: Buffer.from([0, 1, 0]), value: Buffer.from('n') };
  assert.equal((await ask(5, { opcode: Opcode.subdocGet, ...path })).value.toString(), '5', 'SUBDOC_GET');
  const change = { extras: Buffer.from([0, 1, 0]), value: Buffer.from('n77') };
  assert.equal(
    (await ask(6, { opcode: Opcode.subdocDictUpsert, ...change })).status,
    Status.success,
    'SUBDOC_UPSERT',
  );
  assert.equal(JSON.parse((await ask(6, {})).value.toString()).n, 77);
  assert.equal((await ask(7, { opcode: Opcode.touch, extras: expiry(100) })).status, Status.success, 'TOUCH');
  assert.equal((await ask(8, { opcode: Opcode.delete })).status, Status.success, 'DELETE');
  assert.equal((await ask(8, {})).status, Status.keyNotFound);
  client.send(get(9, Opcode.getQuietly), { opcode: Opcode.noop });
  const [quiet, noop] = await replies(client, 2);
  assert.deepEqual([quiet?.value.toString(), noop?.opcode], [text(9), Opcode.noop]);
  const before = (await service.service.report()).buckets[0]?.diskFetches;
  for (let i = 100; i < 200; i++)
    assert.equal((await ask(i, { opcode: Opcode.getMeta })).status, Status.success, 'GET_META');
  assert.equal((await service.service.report()).buckets[0]?.diskFetches, before, 'GET_META needs no value');
});

/** The numbers of the documents that a full scan returns. */
async function scan(client: KvConnection): Promise<Set<number>> {
  return await continueScan(client, await createScan(client));
}

/** Creates a scan of all documents; returns its id. */
async function createScan(client: KvConnection): Promise<Buffer> {
  // From `k` to `l`, in base64: all keys.
  const plan = { range: { start: 'aw==', end: 'bA==' } };
  const created = await client.ask({
    opcode: RangeScanCreate.opcode,
    datatype: Datatype.json,
    value: Buffer.from(JSON.stringify(plan)),
  });
  assert.equal(created.status, Status.success);
  return created.value;
}

const continueExtras = (id: Buffer): Buffer => Buffer.concat([id, Buffer.alloc(12)]);

/** The numbers of the documents that the scan returns from here on. */
async function continueScan(client: KvConnection, id: Buffer): Promise<Set<number>> {
  const extras = continueExtras(id);
  const values: Buffer[] = [];
  for (let status: number = Status.rangeScanMore; status !== Status.rangeScanComplete; ) {
    if (status === Status.rangeScanMore) client.send({ opcode: RangeScanContinue.opcode, extras });
    const reply = (await client.next()) as Reply;
    status = reply.status;
    const expectedStatuses = [Status.success, Status.rangeScanMore, Status.rangeScanComplete];
    assert.ok(
      expectedStatuses.some((expected) => expected === status),
      `status ${status}`,
    );
    values.push(reply.value);
  }
  const numbers = Buffer.concat(values)
    .toString('latin1')
    .matchAll(/"n":(\d+),/g);
  return new Set([...numbers].map(([, n]) => Number(n)));
}

for (const policy of ['valueOnly', 'fullEviction'] as const) {
  test(`a scan and an OBSERVE of many keys have documents that are not in memory, with ${policy}`, async () => {
    const { service, client } = await overfull(usualFeatures, policy);
    await using _ = service;
    assert.equal((await scan(client)).size, count);
    await observesMany(client);
  });
}

for (const policy of ['valueOnly', 'fullEviction'] as const) {
  test(`a scan has documents that are not in memory, with ${policy}, while memory is full because the disk is slow`, async () => {
    let gate = deferred<void>();
    gate.resolve();
    const disk = new MemoryDisk({ sync: () => gate.promise });
    const { service, client } = await overfull(usualFeatures, policy, disk.engine());
    await using _ = service;
    gate = deferred();
    using _openedAtEnd = { [Symbol.dispose]: () => gate.resolve() };
    await fillUp(client);
    assert.equal((await scan(client)).size, count);
  });
}

test('a scan can be continued whose connection closed, or whose request was refused, while the scan waited for the disk', async () => {
  const engine = new MemoryDisk().engine();
  let asked = deferred<void>();
  let gate = deferred<void>();
  gate.resolve();
  const held: DiskEngine = Object.create(engine);
  held.fetchItems = async (...args) => {
    asked.resolve();
    await gate.promise;
    return await engine.fetchItems(...args);
  };
  const { service, client } = await overfull(usualFeatures, 'valueOnly', held);
  await using _ = service;
  using _openedAtEnd = { [Symbol.dispose]: () => gate.resolve() };
  /** A new scan that waits for the disk, and its next reply. */
  const waitingScan = async (by: KvConnection) => {
    asked = deferred();
    gate = deferred();
    const id = await createScan(by);
    // The first documents may be in memory.
    for (;;) {
      by.send({ opcode: RangeScanContinue.opcode, extras: continueExtras(id) });
      const reply = by.next();
      if (await Promise.race([asked.promise.then(() => true), reply.then(() => false)])) return { id, reply };
    }
  };
  const { id } = await waitingScan(client);
  client.close();
  await eventually(async () => assert.equal((await service.service.report()).connections, 0));
  gate.resolve();
  const other = await service.ready();
  assert.ok((await continueScan(other, id)).size > 0);

  const desired = (grants: Grants) =>
    aDesired({ buckets: [aBucket('b', { quotaBytes })], users: [aUser('admin', 'password', grants)] });
  await service.service.apply(desired(fullGrants()));
  const user = await service.ready();
  const later = await waitingScan(user);
  await service.service.apply(desired({ node: 0, buckets: { b: { privileges: Privilege.read } } }));
  gate.resolve();
  assert.equal(((await later.reply) as Reply).status, Status.noAccess);
  await service.service.apply(desired(fullGrants()));
  assert.ok((await continueScan(user, later.id)).size > 0);
});

for (const [policy, features] of [
  ['valueOnly', usualFeatures],
  ['valueOnly', unordered],
  ['fullEviction', usualFeatures],
  ['fullEviction', unordered],
] as const) {
  const order = features === unordered ? 'out of order' : 'in order';
  test(`every document is read ${order}, with ${policy}, while memory is full because the disk does not answer`, async () => {
    let gate = deferred<void>();
    gate.resolve();
    const disk = new MemoryDisk({ sync: () => gate.promise });
    const { service, client } = await overfull(features, policy, disk.engine());
    await using _ = service;
    gate = deferred();
    using _openedAtEnd = { [Symbol.dispose]: () => gate.resolve() };
    await fillUp(client);
    client.send(...Array.from({ length: count }, (_, i) => get(i)));
    for (const reply of await replies(client, count)) {
      assert.equal(reply.status, Status.success);
      assert.equal(reply.value.toString(), text(reply.opaque));
    }
    client.send(...Array.from({ length: count }, (_, i) => ({ ...get(i), key: key(`none${i}`) })));
    for (const { status } of await replies(client, count)) assert.equal(status, Status.keyNotFound);
    const path = { opcode: Opcode.subdocGet, extras: Buffer.from([0, 1, 0]), value: Buffer.from('n') };
    client.send(...Array.from({ length: count }, (_, i) => ({ ...get(i), ...path })));
    for (const { opaque, status, value } of await replies(client, count))
      assert.deepEqual([status, value.toString()], [Status.success, String(opaque)]);
    client.send(...Array.from({ length: 100 }, (_, i) => ({ ...get(i, Opcode.touch), extras: expiry(100) })));
    for (const { status } of await replies(client, 100))
      assert.ok(status === Status.success || status === Status.temporaryFailure, `status ${status}`);
  });
}

/** Changes documents until the bucket fails temporarily. */
async function fillUp(client: KvConnection): Promise<void> {
  for (let i = count - 1; ; i--) {
    const set = {
      opcode: Opcode.set,
      key: key(`k${i}`),
      extras: Buffer.alloc(8),
      value: Buffer.from(text(i)),
    };
    if ((await client.ask(set)).status !== Status.success) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('a change that finds its document on disk but no room in memory is refused, and its read is not counted', async () => {
  const bucket = (quotaBytes: number) => aBucket('b', { quotaBytes, evictionPolicy: 'fullEviction' });
  await using service = await startService(aDesired({ buckets: [bucket(quotaBytes)] }));
  const client = await service.ready();
  const k = key('k');
  await client.ask({ opcode: Opcode.set, key: k, extras: Buffer.alloc(8), value: Buffer.from('{}') });
  await eventually(async () => {
    const evicted = await client.ask({ opcode: Opcode.evictKey, key: k });
    assert.equal(evicted.status, Status.success);
  });
  await service.service.apply(aDesired({ buckets: [bucket(1)] }));
  const upsert = { opcode: Opcode.subdocDictUpsert, key: k, extras: Buffer.from([0, 1, 0]) };
  const refused = await client.ask({ ...upsert, value: Buffer.from('a1') });
  assert.equal(refused.status, Status.temporaryFailure);
  const [report] = (await service.service.report()).buckets;
  assert.deepEqual([report?.gets, report?.getHits], [0, 0]);
});
