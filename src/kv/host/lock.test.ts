// Every bucket checks the lock of the data folder before it commits, however its files were created or opened.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { FilePlace } from '#ports/file-place.ts';
import { silentLog } from '#ports/log.ts';
import { Feature } from '#wire/features.ts';
import { persisted, set } from '../../../test/support/data-client.ts';
import { aBucket, aDesired } from '../../../test/support/data-service.ts';
import { KvConnection } from '../../../test/support/kv-connection.ts';
import { eventually, eventuallyWithin } from '../../../test/support/node-process.ts';
import type { BucketSpec } from '../admin.ts';
import { WorkerKvAdmin } from './worker-kv-admin.ts';

/** Buckets, each named for what last happened to its files, with the change of the bucket that causes it, if any. */
const changeOf: Record<string, Partial<BucketSpec>> = {
  created: {},
  reopened: {},
  flushed: { incarnation: 2 },
  restarted: { evictionPolicy: 'fullEviction' },
  compacted: {},
};
const names = Object.keys(changeOf);

async function startOn(dataDir: string): Promise<{ admin: WorkerKvAdmin; port: number }> {
  const path = join(dataDir, 'lock');
  await writeFile(path, '');
  const admin = new WorkerKvAdmin({ log: silentLog, onLost: (reason) => assert.fail(reason) });
  const { port } = await admin.start({
    dataDir,
    host: '127.0.0.1',
    port: 0,
    tlsPort: 0,
    version: '7.1.0-test',
    logLevel: 'silent',
    lock: { path, identity: new FilePlace(path).identity },
  });
  return { admin, port };
}

async function connectedTo(port: number, bucket: string): Promise<KvConnection> {
  const client = await KvConnection.open(port);
  await client.hello([Feature.mutationSeqno, Feature.xattr, Feature.xerror, Feature.selectBucket]);
  await client.plain('admin', 'password');
  await client.select(bucket);
  return client;
}

const reportOf = async (admin: WorkerKvAdmin, bucket: string) =>
  (await admin.report()).buckets.find(({ name }) => name === bucket);

async function compact(admin: WorkerKvAdmin, bucket: string): Promise<void> {
  const { uuid } = aBucket(bucket);
  await admin.compact(uuid, { origin: 'test', purgeBeforeSeconds: 0 });
  // A compaction syncs the files of the bucket one after the other.
  await eventuallyWithin(240_000, async () =>
    assert.equal((await reportOf(admin, bucket))?.compaction, null),
  );
}

test('no bucket commits once the lock of the data folder is gone', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'divan-lock-'));
  {
    const { admin } = await startOn(dataDir);
    await admin.apply(
      aDesired({ buckets: names.filter((name) => name !== 'created').map((name) => aBucket(name)) }),
    );
    await admin.stop();
  }
  const { admin, port } = await startOn(dataDir);
  t.after(async () => {
    await admin.stop();
    await rm(dataDir, { recursive: true });
  });
  await admin.apply(aDesired({ buckets: names.map((name) => aBucket(name)) }));
  await admin.apply(aDesired({ buckets: names.map((name) => aBucket(name, changeOf[name])) }));
  await compact(admin, 'compacted');
  for (const name of names) {
    const client = await connectedTo(port, name);
    assert.equal((await client.ask(set('before', '1', { framing: persisted }))).status, 0, name);
    client.close();
  }
  await rm(join(dataDir, 'lock'));
  for (const name of names) {
    const client = await connectedTo(port, name);
    client.send(set('after', '1', { framing: persisted }));
    await eventually(async () => {
      const failure = (await reportOf(admin, name))?.writeFailure ?? 'none';
      assert.match(failure, /lock was removed or replaced/, name);
    });
    client.close();
  }
});
