import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EndReason, EventKind } from '#wire/dcp.ts';
import { Feature } from '#wire/features.ts';
import { usualFeatures } from '../../../test/support/client-features.ts';
import {
  aBucket,
  aDesired,
  persistToMajority,
  startService,
  type TestService,
} from '../../../test/support/data-service.ts';
import { DcpClient } from '../../../test/support/dcp-client.ts';
import type { KvConnection } from '../../../test/support/kv-connection.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import type { BucketSpec, KvDesired, Manifest } from '../admin.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';

const { createCollection, dropCollection, createScope, dropScope, modifyCollection } = EventKind;

type Collection = [uid: string, name: string, maxTTL?: number];

const scope = (uid: string, name: string, ...collections: Collection[]): Manifest['scopes'][0] => ({
  uid,
  name,
  collections: collections.map(([id, collectionName, maxTTL]) => ({
    uid: id,
    name: collectionName,
    ...(maxTTL === undefined ? {} : { maxTTL }),
  })),
});
const first = scope('0', '_default', ['0', '_default']);

const desired = (uid: string, scopes: Manifest['scopes'], changes: Partial<BucketSpec> = {}): KvDesired =>
  aDesired({ buckets: [aBucket('b', { manifest: { uid, scopes }, ...changes })] });

/** The events that the stream of vbucket 3 received: seqno, kind, version of the form, name, and value in hexadecimal digits. */
const eventsOf = (client: DcpClient): unknown[] =>
  client.events.map(({ seqno, kind, version, key, value }) => [
    seqno,
    kind,
    version,
    key,
    value.toString('hex'),
  ]);

const u64 = (value: number): string => value.toString(16).padStart(16, '0');
const u32 = (value: number): string => value.toString(16).padStart(8, '0');

async function streaming(
  service: TestService,
  name: string,
  controls: Record<string, string> = {},
  value?: unknown,
): Promise<DcpClient> {
  const client = await new DcpClient(await service.ready()).open(name, 1, controls);
  assert.equal((await client.stream(3, value === undefined ? {} : { value })).status, 0);
  return client;
}

async function set(kv: KvConnection, key: string, collection: number): Promise<void> {
  const reply = await kv.ask({
    opcode: Opcode.set,
    vb: 3,
    key: Buffer.concat([Buffer.from([collection]), Buffer.from(key)]),
    extras: Buffer.alloc(8),
    framing: persistToMajority,
  });
  assert.equal(reply.status, 0);
}

const shop = (...collections: Collection[]): Manifest['scopes'] => [
  first,
  scope('8', 'shop', ...collections),
];

for (const type of ['native', 'ephemeral'] as const) {
  test(`${type}: streams have the events of scopes and collections in seqno order, live and from backfill`, async () => {
    await using service = await startService(desired('0', [first], { type }));
    const live = await streaming(service, 'live');
    await service.service.apply(desired('1', shop(), { type }));
    await service.service.apply(desired('2', shop(['8', 'orders'], ['9', 'carts', 60]), { type }));
    await live.reach([[3, 3]]);
    // Only the last event of a manifest has its uid; the others have the uid of the manifest before.
    const beginnings = [
      [1, createScope, 0, 'shop', u64(1) + u32(8)],
      [2, createCollection, 0, 'orders', u64(1) + u32(8) + u32(8)],
      [3, createCollection, 1, 'carts', u64(2) + u32(8) + u32(9) + u32(60)],
    ];
    assert.deepEqual(eventsOf(live), beginnings);
    if (type === 'ephemeral') {
      const kv = await service.ready();
      assert.equal(
        (await kv.ask({ opcode: Opcode.set, vb: 3, key: Buffer.from('\x08k'), extras: Buffer.alloc(8) }))
          .status,
        0,
      );
    } else await set(await service.ready(), 'k', 8);
    await live.reach([[3, 4]]);
    const later = await streaming(service, 'later');
    await later.reach([[3, 4]]);
    assert.deepEqual(eventsOf(later), beginnings);
    await service.service.apply(desired('5', [first], { type }));
    const endings = [
      [5, dropCollection, 0, '', u64(2) + u32(8) + u32(8)],
      [6, dropCollection, 0, '', u64(2) + u32(8) + u32(9)],
      [7, dropScope, 0, '', u64(5) + u32(8)],
    ];
    for (const client of [live, later]) {
      await client.until(() => client.events.length === 6);
      assert.deepEqual(eventsOf(client), [...beginnings, ...endings]);
    }
    // The disk may lag behind: wait until the last write is persisted.
    if (type === 'native') await set(await service.ready(), 'last', 0);
    const afterwards = await streaming(service, 'afterwards');
    await afterwards.until(() => afterwards.events.length === 3);
    assert.deepEqual(eventsOf(afterwards), endings);
  });
}

test('each stream has the events of its own scope or collections, and ends with the last of them', async () => {
  await using service = await startService(desired('4', shop(['8', 'orders'], ['9', 'carts'])));
  const scoped = await streaming(service, 'scope', {}, { scope: '8' });
  const both = await streaming(service, 'both', {}, { collections: ['8', '9'] });
  const one = await streaming(service, 'one', {}, { collections: ['9'] });
  const plain = await new DcpClient(
    await service.ready({ features: usualFeatures.filter((feature) => feature !== Feature.collections) }),
  ).open('plain');
  assert.equal((await plain.stream(3)).status, 0);
  for (const client of [scoped, both, one]) await client.reach([[3, 3]]);
  await service.service.apply(desired('5', shop(['8', 'orders'])));
  await one.until(() => one.copyOf(3).endReason !== null);
  assert.deepEqual([one.copyOf(3).endReason, eventsOf(one).length], [EndReason.filterEmpty, 2]);
  await service.service.apply(desired('6', [first]));
  for (const client of [scoped, both]) await client.until(() => client.copyOf(3).endReason !== null);
  assert.deepEqual(
    [both.copyOf(3).endReason, both.events.map(({ kind }) => kind)],
    [EndReason.filterEmpty, [createCollection, createCollection, dropCollection, dropCollection]],
  );
  assert.deepEqual(
    [scoped.copyOf(3).endReason, scoped.events.map(({ kind }) => kind)],
    [
      EndReason.filterEmpty,
      [createScope, createCollection, createCollection, dropCollection, dropCollection, dropScope],
    ],
  );
  const kv = await service.ready();
  await set(kv, 'k', 0);
  await plain.until(() => plain.changes.length === 1);
  assert.equal(plain.events.length, 0);
});

test('only clients that requested events as FlatBuffers tables get those of changed collections', async () => {
  await using service = await startService(desired('4', shop(['8', 'orders', 60])));
  const client = await streaming(service, 'tables', { flatbuffers_system_events: 'true' });
  const plain = await streaming(service, 'plain');
  await service.service.apply(desired('5', shop(['8', 'orders', -1])));
  await set(await service.ready(), 'k', 8);
  await client.until(() => client.changes.length === 1);
  assert.deepEqual(
    client.events.map(({ kind, version, key }) => [kind, version, key]),
    [
      [createScope, 2, 'shop'],
      [createCollection, 2, 'orders'],
      [modifyCollection, 2, 'orders'],
    ],
  );
  assert.deepEqual(
    client.events.map(({ value }) => tableOf(value)),
    [
      { uid: 0, scope: 8, strings: ['shop'] },
      { uid: 4, scope: 8, strings: ['orders'], collection: 8, hasTtl: 1, maxTtl: 60 },
      { uid: 5, scope: 8, strings: ['orders'], collection: 8, hasTtl: 1, maxTtl: 0 },
    ],
  );
  await plain.until(() => plain.changes.length === 1);
  assert.deepEqual(
    plain.events.map(({ kind }) => kind),
    [createScope, createCollection],
  );
});

/** Reads the table as generated code does: by the offsets of its vtable. */
function tableOf(buffer: Buffer): Record<string, unknown> {
  const table = buffer.readUInt32LE(0);
  const vtable = table - buffer.readInt32LE(table);
  const count = (buffer.readUInt16LE(vtable) - 4) / 2;
  const at = (index: number): number => table + buffer.readUInt16LE(vtable + 4 + 2 * index);
  assert.equal(at(0) % 8, 0, 'wide numbers are aligned');
  const textAt = at(count - 1) + buffer.readUInt32LE(at(count - 1));
  const text = buffer.toString('utf8', textAt + 4, textAt + 4 + buffer.readUInt32LE(textAt));
  const common = {
    uid: Number(buffer.readBigUInt64LE(at(0))),
    scope: buffer.readUInt32LE(at(1)),
    strings: [text],
  };
  if (count === 3) return common;
  return {
    ...common,
    collection: buffer.readUInt32LE(at(2)),
    hasTtl: buffer[at(3)],
    maxTtl: buffer.readUInt32LE(at(4)),
  };
}

test('the next start records events that a crash lost, and none twice', async () => {
  const disk = new MemoryDisk();
  const before = await startService(desired('4', shop(['8', 'orders'])), { disk: disk.engine() });
  await set(await before.ready(), 'k', 8);
  await before.service.stop();
  const between = await startService(desired('4', shop(['8', 'orders'])), { disk: disk.engine() });
  const again = await streaming(between, 'again');
  await again.reach([[3, 3]]);
  assert.equal(again.events.length, 2);
  assert.deepEqual((await between.service.report()).buckets[0]?.collectionItems, { 0: 0, 8: 1 });
  again.connection.close();
  disk.crash();
  await between.service.stop().catch(() => {});
  await using after = await startService(desired('7', shop(['9', 'carts', 5])), { disk: disk.engine() });
  // Once this write is persisted, so are the events.
  await set(await after.ready(), 'k', 9);
  const client = await streaming(after, 'after');
  await client.until(() => client.events.length === 3);
  assert.deepEqual(
    eventsOf(client).map((event) => (event as unknown[]).slice(1)),
    [
      [createScope, 0, 'shop', u64(0) + u32(8)],
      [dropCollection, 0, '', u64(4) + u32(8) + u32(8)],
      [createCollection, 1, 'carts', u64(7) + u32(8) + u32(9) + u32(5)],
    ],
  );
});

test('a flushed bucket sends the events of its collections again', async () => {
  await using service = await startService(desired('4', shop(['8', 'orders'])));
  await service.service.apply(desired('4', shop(['8', 'orders']), { incarnation: 2 }));
  const client = await streaming(service, 'again');
  await client.reach([[3, 2]]);
  assert.deepEqual(
    client.events.map(({ kind }) => kind),
    [createScope, createCollection],
  );
});
