// Statistics over a real socket: they match the operations.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fullGrants } from '#auth/grants.ts';
import { Privilege } from '#auth/privileges.ts';
import { realClock } from '#ports/clock.ts';
import { OpenFlag } from '#wire/dcp.ts';
import { Feature } from '#wire/features.ts';
import { Datatype, Status } from '#wire/status.ts';
import { usualFeatures } from '../../../test/support/client-features.ts';
import {
  aBucket,
  aDesired,
  aUser,
  persistToMajority,
  startService,
  type TestService,
} from '../../../test/support/data-service.ts';
import type { KvConnection } from '../../../test/support/kv-connection.ts';
import { Opcode } from '../../../test/support/opcodes.ts';

type Figures = Record<string, string>;

const set = (name: string, value = '{}', rest: object = {}) => ({
  opcode: Opcode.set,
  key: Buffer.from(`\0${name}`),
  extras: Buffer.alloc(8),
  value: Buffer.from(value),
  ...rest,
});

async function group(client: KvConnection, name: string): Promise<Figures> {
  const figures: Figures = {};
  client.send({ opcode: Opcode.stat, key: Buffer.from(name) });
  for (let reply = await client.next(); reply; reply = await client.next()) {
    assert.equal(reply.status, Status.success, name);
    if (reply.key.length === 0) return figures;
    figures[reply.key.toString()] = reply.value.toString();
  }
  throw new Error('the connection ended');
}

const statusOf = async (client: KvConnection, name: string) =>
  (await client.ask({ opcode: Opcode.stat, key: Buffer.from(name) })).status;

test('statistics of a vbucket have its items, seqnos and unpersisted changes', async () => {
  await using service = await startService();
  const client = await service.ready();
  const stored = await client.ask(set('k', '{}', { vb: 5 }));
  await client.ask(set('gone', '{}', { vb: 5 }));
  const deleted = await client.ask({
    opcode: Opcode.delete,
    key: Buffer.from('\0gone'),
    vb: 5,
    framing: persistToMajority,
  });
  const seqno = deleted.extras.readBigUInt64BE(8).toString();
  const details = await group(client, 'vbucket-details 5');
  assert.equal(details['vb_5:max_cas'], String(deleted.cas));
  assert.ok(BigInt(details['vb_5:max_cas'] as string) > stored.cas);
  assert.deepEqual(
    ['num_items', 'num_tombstones', 'num_non_resident', 'high_seqno', 'queue_size'].map(
      (name) => details[`vb_5:${name}`],
    ),
    ['1', '1', '0', seqno, '0'],
  );
  const collections = await group(client, 'collections-details 5');
  assert.equal(collections['vb_5:0x0:high_seqno'], seqno);
  assert.equal(collections['vb_5:0x8:name'], 'orders');
  const checkpoint = await group(client, 'checkpoint 5');
  assert.deepEqual(
    [checkpoint['vb_5:num_items_for_persistence'], checkpoint['vb_5:last_closed_checkpoint_seqno']],
    ['0', seqno],
  );
});

test('statistics of a bucket have its current settings', async () => {
  const buckets = [
    aBucket('b', {
      evictionPolicy: 'fullEviction',
      maxTtl: 77,
      conflictResolution: 'lww',
      compressionMode: 'active',
    }),
  ];
  await using service = await startService(aDesired({ buckets }));
  const client = await service.ready();
  const config = await group(client, 'config');
  assert.deepEqual(
    ['ep_item_eviction_policy', 'ep_max_ttl', 'ep_conflict_resolution_type', 'ep_compression_mode'].map(
      (name) => config[name],
    ),
    ['full_eviction', '77', 'lww', 'active'],
  );
  assert.equal(config['ep_max_size'], String(256 * 1024 * 1024));
  const memory = await group(client, 'memory');
  assert.equal(memory['ep_max_size'], config['ep_max_size']);
  assert.ok(Number(memory['ep_kv_size']) + Number(memory['ep_overhead']) >= Number(memory['mem_used']));
  assert.equal((await group(client, 'warmup'))['ep_warmup_state'], 'done');
  assert.deepEqual(JSON.parse((await group(client, 'tasks'))['ep_tasks:tasks'] as string), []);
  assert.match((await group(client, 'info'))['version'] as string, /^7\.1\.0/);
});

test('commits and reads from disk are counted by duration', async () => {
  await using service = await startService(
    aDesired({ buckets: [aBucket('b', { evictionPolicy: 'fullEviction' })] }),
  );
  const client = await service.ready();
  assert.deepEqual(
    Object.keys(await group(client, 'timings')).filter((name) => name.startsWith('bg_')),
    [],
  );
  await client.ask(set('k', '{}', { framing: persistToMajority }));
  await client.ask({ opcode: Opcode.evictKey, key: Buffer.from('\0k') });
  await client.ask({ opcode: Opcode.get, key: Buffer.from('\0k') });
  const timings = Object.entries(await group(client, 'timings'));
  for (const name of ['disk_commit', 'bg_wait', 'bg_load']) {
    const counted = timings.filter(([range]) => range.startsWith(`${name}_`));
    const count = counted.reduce((sum, [, inRange]) => sum + Number(inRange), 0);
    // Buckets also commit when they start.
    assert.ok(name === 'disk_commit' ? count >= 1 : count === 1, `${name} ${count}`);
    assert.match(counted[0]?.[0] as string, /_\d+,\d+$/);
  }
});

test('statistics have the current limits', async () => {
  await using started = await startService(aDesired(), { processors: 2 });
  const client = await started.ready();
  const settings = await group(client, 'settings');
  assert.deepEqual([settings['maxconns'], settings['num_reader_threads']], ['65000', '1']);
  await started.service.apply(
    aDesired({
      limits: { connectionsMax: 2000, idleSeconds: 0, logsConnections: false },
      threads: { readers: 64, writers: 'disk_io_optimized', storage: 3 },
    }),
  );
  const changed = await group(client, 'settings');
  assert.deepEqual(
    ['maxconns', 'num_reader_threads', 'num_writer_threads', 'num_storage_threads'].map(
      (name) => changed[name],
    ),
    ['2000', '64', '4', '3'],
  );
});

test('administrators get connections, clocks and limits, with and without a bucket', async () => {
  const reader = aUser('reader', 'password', { ...fullGrants(), node: 0 });
  await using service = await startService(aDesired({ users: [aUser('admin', 'password'), reader] }));
  const onBucket = await service.ready();
  const onNone = await service.connect();
  await onNone.hello([Feature.xerror]);
  await onNone.plain('admin', 'password');
  for (const client of [onBucket, onNone]) {
    const connections = Object.values(await group(client, 'connections')).map((text) => JSON.parse(text));
    assert.deepEqual(connections.map(({ bucket }) => bucket).sort(), ['b', null].sort());
    assert.ok(connections.every(({ user, agent_name }) => user.name === 'admin' && agent_name === 'test'));
    assert.ok(Number((await group(client, 'clocks'))['clock_fine_overhead_ns']) >= 0);
    assert.ok(Number((await group(client, 'settings'))['maxconns']) > 0);
  }
  assert.equal(await statusOf(onNone, 'vbucket'), Status.noBucket);
  assert.equal(await statusOf(onNone, 'no-such-group'), Status.noBucket);
  assert.equal(await statusOf(await service.ready({ user: 'reader' }), 'connections'), Status.noAccess);
});

test('each connection is listed with the domain of its user', async () => {
  const jane = { ...aUser('jane', 'password'), isExternal: true };
  await using service: TestService = await startService(
    aDesired({ users: [aUser('admin', 'password'), jane] }),
    { askExternal: ({ id }) => void service.service.answerExternalLogin(id, true) },
  );
  const client = await service.ready();
  await service.ready({ user: 'jane' });
  const connections = Object.values(await group(client, 'connections')).map((text) => JSON.parse(text));
  assert.deepEqual(
    connections.map(({ user }) => [user.name, user.domain]),
    [
      ['admin', 'local'],
      ['jane', 'external'],
    ],
  );
});

test('change stream connections are listed, and summed by the prefix of their names', async () => {
  await using service = await startService();
  const client = await service.ready();
  await client.ask(set('k'));
  const reader = await service.ready();
  assert.equal((await reader.ask(openStreams('xdcr:first'))).status, Status.success);
  const streams = await group(client, 'dcp');
  assert.deepEqual([streams['eq_dcpq:xdcr:first:type'], streams['ep_dcp_count']], ['producer', '1']);
  assert.equal(streams['eq_dcpq:xdcr:first:num_streams'], '0');
  const sums = await group(client, 'dcpagg :');
  assert.deepEqual([sums['xdcr:producer_count'], sums[':total:producer_count']], ['1', '1']);
});

const openStreams = (name: string) => ({
  opcode: Opcode.dcpOpen,
  key: Buffer.from(name),
  extras: Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]),
});

test('open range scans are listed', async () => {
  await using service = await startService();
  const client = await service.ready();
  await client.ask(set('k'));
  const value = Buffer.from('{"range":{"start":"aw==","end":"bA=="},"key_only":true}');
  const created = await client.ask({ opcode: Opcode.rangeScanCreate, datatype: Datatype.json, value });
  const prefix = `vb_0:${created.value.toString('hex')}`;
  const scans = await group(client, 'range-scans');
  assert.deepEqual([scans[`${prefix}:keys`], scans[`${prefix}:keys_done`]], ['1', '0']);
  await client.ask({ opcode: Opcode.rangeScanCancel, extras: created.value });
  assert.deepEqual(await group(client, 'range-scans'), {});
});

test('statistics of a document are found by name or id of its collection, by users who may read it', async () => {
  const user = aUser('counter', 'password', {
    node: 0,
    buckets: { b: { privileges: Privilege.simpleStats } },
  });
  await using service = await startService(aDesired({ users: [aUser('admin', 'password'), user] }));
  const client = await service.ready();
  await client.ask({ ...set('k'), key: Buffer.from('\bk'), extras: Buffer.from([0, 0, 0, 7, 0, 0, 0, 0]) });
  assert.equal((await group(client, 'key k 0 shop.orders'))['key_flags'], '7');
  assert.equal((await group(client, 'key-byid k 0 0x8'))['key_flags'], '7');
  assert.equal(await statusOf(client, 'key-byid k 0 0x9'), Status.keyNotFound);
  const lock = await client.ask({ opcode: Opcode.getAndLock, key: Buffer.from('\bk') });
  assert.equal(lock.status, Status.success);
  assert.equal((await group(client, 'key k 0 shop.orders'))['key_cas'], `${2n ** 64n - 1n}`);
  assert.equal(await statusOf(client, 'key-byid k 0 0x77'), Status.unknownCollection);
  assert.equal(await statusOf(client, 'key-byid k'), Status.invalidArguments);
  const counter = await service.ready({ user: 'counter' });
  assert.equal((await group(counter, ''))['curr_items'], '1');
  assert.equal(await statusOf(counter, 'key k 0 shop.orders'), Status.noAccess);
});

test('a long group is written in several turns, and other clients are served between them', async () => {
  let turns = 0;
  const clock = {
    ...realClock,
    soon: (callback: () => void) => {
      turns++;
      realClock.soon(callback);
    },
  };
  await using service = await startService(undefined, { clock });
  const [client, other] = [await service.ready(), await service.ready()];
  await client.ask(set('k', '{}', { vb: 5 }));
  const before = turns;
  client.send(
    { opcode: Opcode.stat, key: Buffer.from('vbucket-details'), opaque: 3 },
    { opcode: Opcode.noop, opaque: 4 },
  );
  other.send({ opcode: Opcode.noop });
  assert.equal((await other.next())?.status, Status.success);
  const names = new Set<string>();
  for (let reply = await client.next(); reply?.key.length; reply = await client.next()) {
    assert.deepEqual([reply.opcode, reply.opaque, reply.status], [0x10, 3, 0]);
    names.add(reply.key.toString());
  }
  assert.ok(names.size > 1000 && names.has('vb_5:num_items'), `${names.size} figures`);
  assert.equal((await client.next())?.opaque, 4, 'the next request is answered after the group');
  assert.ok(turns - before > names.size / 1000, `${turns - before} turns`);
});

test('a value above 64 KiB in a request that stores no document is refused', async () => {
  await using service = await startService();
  const client = await service.ready();
  const value = Buffer.alloc(64 * 1024 + 1, ' ');
  for (const opcode of [Opcode.hello, Opcode.dcpStreamRequest, Opcode.getCollectionId, Opcode.stat])
    assert.equal(
      (await client.ask({ opcode, value, extras: Buffer.alloc(opcode === Opcode.dcpStreamRequest ? 48 : 0) }))
        .status,
      Status.invalidArguments,
    );
});

test('one value shows whether a vbucket has another history than before', async () => {
  const flushed = (incarnation: number) => aDesired({ buckets: [aBucket('b', { incarnation })] });
  await using service = await startService(flushed(1));
  const client = await service.ready();
  const before = await group(client, 'histories');
  assert.match(before['histories'] ?? '', /^[0-9a-f]{64}$/);
  await client.ask(set('k'));
  assert.deepEqual(await group(client, 'histories'), before);
  await service.service.apply(flushed(2));
  const after = await group(client, 'histories');
  assert.notDeepEqual(after, before);
  assert.deepEqual(await group(client, 'histories'), after);
});

test('a group of statistics ends with its connection, also while the client keeps its side open', async () => {
  let turns = 0;
  const soon = (callback: () => void) => {
    turns++;
    realClock.soon(callback);
  };
  await using service = await startService(undefined, { clock: { ...realClock, soon } });
  const client = await service.ready();
  client.socket.allowHalfOpen = true;
  client.send({ opcode: Opcode.stat, key: Buffer.from('vbucket-details') });
  client.socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  for (let reply = await client.next(); reply?.status === Status.success; ) reply = await client.next();
  const before = turns;
  for (let at = 0; at < 100; at++) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(turns - before < 50, `${turns - before} turns of a closing connection`);
  client.socket.destroy();
});

test('statistics of a connection whose name has a long text are whole for a client with server durations', async () => {
  await using service = await startService();
  const stream = await service.ready();
  // Each byte is shown as a character of three bytes.
  const name = Buffer.alloc(200, 0xff);
  const extras = Buffer.from([0, 0, 0, 0, 0, 0, 0, OpenFlag.producer]);
  assert.equal((await stream.ask({ opcode: Opcode.dcpOpen, key: name, extras })).status, Status.success);
  const client = await service.ready({ features: [...usualFeatures, Feature.tracing] });
  const figures = await group(client, 'dcp');
  assert.equal(figures[`eq_dcpq:${name}:type`], 'producer');
  assert.equal(figures['ep_dcp_count'], '1');
  const separator = Buffer.alloc(40_000, '|');
  const { status } = await client.ask({ opcode: Opcode.stat, key: Buffer.from(`dcpagg ${separator}`) });
  assert.equal(status, Status.invalidArguments);
});
