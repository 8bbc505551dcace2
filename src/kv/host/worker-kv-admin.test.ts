import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { aBucket, aDesired } from '../../../test/support/data-service.ts';
import { KvConnection } from '../../../test/support/kv-connection.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { WorkerKvAdmin } from './worker-kv-admin.ts';

const startOptions = (dataDir: string, port = 0) => ({
  dataDir,
  host: '127.0.0.1',
  port,
  tlsPort: 0,
  version: '7.1.0-test',
  logLevel: 'silent',
});
const newAdmin = () =>
  new WorkerKvAdmin({
    log: silentLog,
    onLost: (reason) => {
      throw reason;
    },
  });

test('a data thread keeps documents over a restart, empties a bucket, and removes its files', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'divan-kv-'));
  const set = { opcode: 1, key: Buffer.from('key'), extras: Buffer.alloc(8), value: Buffer.from('"v"') };
  for (const round of ['store', 'read', 'flush', 'empty']) {
    const admin = newAdmin();
    const { port } = await admin.start(startOptions(dataDir));
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
    const client = await KvConnection.open(port);
    await client.plain('admin', 'password');
    await client.select('b');
    if (round === 'store') assert.equal((await client.ask(set)).status, 0);
    const read = await client.ask({ opcode: 0, key: Buffer.from('key') });
    assert.equal(read.value.toString(), incarnation === 1 ? '"v"' : '', round);
    assert.equal(await admin.randomKey('b'), incarnation === 1 ? 'key' : null);
    const { buckets } = await admin.report();
    assert.equal(buckets[0]?.items, incarnation === 1 ? 1 : 0);
    if (round === 'empty') assert.deepEqual((await admin.apply(aDesired({ buckets: [] }))).buckets, []);
    client.close();
    await admin.stop();
  }
  await rm(dataDir, { recursive: true });
});

test('a data thread removes the files of a bucket whose deletion an earlier one did not finish', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'divan-kv-'));
  const { uuid } = aBucket('b');
  for (const deletedBuckets of [[], [uuid]]) {
    const admin = newAdmin();
    await admin.start(startOptions(dataDir));
    await admin.apply(
      aDesired({ buckets: deletedBuckets.length === 0 ? [aBucket('b')] : [], deletedBuckets }),
    );
    assert.equal(existsSync(join(dataDir, 'buckets', uuid)), deletedBuckets.length === 0);
    await admin.stop();
  }
  await rm(dataDir, { recursive: true });
});

test('the error of start names the port that is in use', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address() as { port: number };
  const admin = newAdmin();
  await assert.rejects(admin.start(startOptions('/nowhere', port)), (error: NodeJS.ErrnoException) => {
    assert.equal(error.code, 'EADDRINUSE');
    assert.ok(error.message.includes(String(port)));
    return true;
  });
  await admin.stop();
  taken.close();
});

test('a data thread says how far its copies of the shards of a bucket are', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'divan-kv-'));
  const admin = newAdmin();
  t.after(async () => {
    await admin.stop();
    await rm(dataDir, { recursive: true });
  });
  await admin.start(startOptions(dataDir));
  const active = { state: 'active', epoch: 3, replicas: [] } as const;
  const bucket = aBucket('b', { shards: [active, active] });
  await admin.apply(aDesired({ buckets: [bucket] }));
  // The collections of a new bucket are events with seqnos in every vbucket.
  await eventually(async () => {
    const positions = await admin.shardPositions(bucket.uuid);
    assert.equal(positions.length, 2);
    assert.ok(positions.every((one) => one?.epoch === 3 && one.seqno >= 512));
  });
  assert.deepEqual(await admin.shardPositions('unknown'), []);
});
