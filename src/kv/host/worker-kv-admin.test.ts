import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { aBucket, aDesired } from '../../../test/support/data-service.ts';
import { KvConnection } from '../../../test/support/kv-connection.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { WorkerKvAdmin } from './worker-kv-admin.ts';

const startOptions = (dataDir: string, port = 0) => ({
  dataDir,
  host: '127.0.0.1',
  port,
  tlsPort: 0,
  version: '7.1.0-test',
  logLevel: 'silent',
});
/** A data thread; it ends with the scope that uses it, whatever the outcome of the test: one that runs keeps the process of the tests alive. */
function newAdmin() {
  const admin = new WorkerKvAdmin({
    log: silentLog,
    onLost: (reason) => {
      throw reason;
    },
  });
  return { admin, [Symbol.asyncDispose]: () => admin.stop() };
}

/** Removed with the scope that uses it. */
async function newFolder() {
  const path = await mkdtemp(join(tmpdir(), 'divan-kv-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

async function connected(port: number) {
  const client = await KvConnection.open(port);
  return { client, [Symbol.dispose]: () => client.close() };
}

async function takenPort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.dispose]: () => void server.close() };
}

test('a data thread keeps documents over a restart, empties a bucket, and removes its files', async () => {
  await using folder = await newFolder();
  const set = {
    opcode: Opcode.set,
    key: Buffer.from('key'),
    extras: Buffer.alloc(8),
    value: Buffer.from('"v"'),
  };
  for (const round of ['store', 'read', 'flush', 'empty']) {
    await using running = newAdmin();
    const { admin } = running;
    const { port } = await admin.start(startOptions(folder.path));
    const incarnation = round === 'flush' || round === 'empty' ? 2 : 1;
    await admin.apply(aDesired({ buckets: [aBucket('b', { incarnation })] }));
    // On a busy machine the bucket becomes ready later than `apply` waits.
    await eventually(async () => {
      const { buckets } = await admin.report();
      assert.deepEqual(
        buckets.map(({ state, damaged }) => ({ state, damaged })),
        [{ state: 'ready', damaged: [] }],
      );
    });
    using connection = await connected(port);
    const { client } = connection;
    await client.plain('admin', 'password');
    await client.select('b');
    const before = admin.activityCount();
    if (round === 'store') assert.equal((await client.ask(set)).status, 0);
    else await client.ask({ opcode: Opcode.get, key: Buffer.from('key') });
    assert.ok(admin.activityCount() > before, 'the request was not counted before its answer');
    const read = await client.ask({ opcode: Opcode.get, key: Buffer.from('key') });
    assert.equal(read.value.toString(), incarnation === 1 ? '"v"' : '', round);
    assert.equal(await admin.randomKey('b'), incarnation === 1 ? 'key' : null);
    const { buckets } = await admin.report();
    assert.equal(buckets[0]?.items, incarnation === 1 ? 1 : 0);
    if (round === 'empty') assert.deepEqual((await admin.apply(aDesired({ buckets: [] }))).buckets, []);
  }
});

test('a data thread removes the files of a bucket whose deletion an earlier one did not finish', async () => {
  await using folder = await newFolder();
  const { uuid } = aBucket('b');
  for (const deletedBuckets of [[], [uuid]]) {
    await using running = newAdmin();
    const { admin } = running;
    await admin.start(startOptions(folder.path));
    await admin.apply(
      aDesired({ buckets: deletedBuckets.length === 0 ? [aBucket('b')] : [], deletedBuckets }),
    );
    assert.equal(existsSync(join(folder.path, 'buckets', uuid)), deletedBuckets.length === 0);
  }
});

test('the error of start names the port that is in use', async () => {
  using taken = await takenPort();
  const { port } = taken;
  await using running = newAdmin();
  const { admin } = running;
  await assert.rejects(admin.start(startOptions('/nowhere', port)), (error: NodeJS.ErrnoException) => {
    assert.equal(error.code, 'EADDRINUSE');
    assert.ok(error.message.includes(String(port)));
    return true;
  });
});

test('a data thread says how far its copies of the shards of a bucket are', async () => {
  await using folder = await newFolder();
  await using running = newAdmin();
  const { admin } = running;
  await admin.start(startOptions(folder.path));
  const active = { state: 'active', epoch: 3, replicas: [] } as const;
  const bucket = aBucket('b', { shards: [active, active] });
  await admin.apply(aDesired({ buckets: [bucket] }));
  // The collections of a new bucket are events with seqnos in every vbucket.
  await eventually(async () => {
    const positions = await admin.shardPositions(bucket.uuid);
    assert.equal(positions.length, 2);
    assert.ok(positions.every((position) => position?.epoch === 3 && position.seqno >= 512));
  });
  assert.deepEqual(await admin.shardPositions('unknown'), []);
});
