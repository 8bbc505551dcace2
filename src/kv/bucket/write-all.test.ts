// All changes of a bucket are written before its engine is replaced, with commits paused meanwhile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { silentLog } from '#ports/log.ts';
import { BucketUnderTest } from '../../../test/support/a-bucket.ts';
import { DurabilityLevel } from '../data/documents.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';

const files = { folder: '/bucket', bucketUuid: 'b1', incarnation: 1, fileCount: 4 };
const vb = 3;

const persisted = (b: BucketUnderTest): number => b.bucket.documents.persistedSeqno(vb);

test('durable writes are committed at once after a pause in which one was made', async () => {
  const gate = deferred<void>();
  let isHeld = false;
  const disk = new MemoryDisk({ sync: async () => (isHeld ? await gate.promise : undefined) }).engine();
  const b = new BucketUnderTest({ storage: { disk, files } });
  await b.start();
  await b.advance(1000);
  const durably = (key: string) => b.store(key, { vb, durability: DurabilityLevel.persistToMajority });
  b.store('first', { vb });
  isHeld = true;
  const writing = b.bucket.writeAll();
  await b.advance(5);
  durably('during the pause');
  gate.resolve();
  await writing;
  for (const count of [3, 4]) {
    durably(`after the pause ${count}`);
    await b.advance(5);
    assert.equal(persisted(b), count);
  }
});

test('a bucket that stops waits until all of its changes are written for a restart', async () => {
  const disk = new MemoryDisk();
  const engine = disk.engine();
  const events: string[] = [];
  const log = { ...silentLog, error: (event: string) => void events.push(event) };
  const b = new BucketUnderTest({ storage: { disk: engine, files }, log });
  await b.start();
  await b.advance(1000);
  for (const each of [0, 1, 2, 3]) b.store('k', { vb: each });
  const commit = engine.commit.bind(engine);
  let stopping: Promise<unknown> | null = null;
  engine.commit = async (...batch) => {
    stopping ??= b.bucket.stop().then(() => events.push('stopped'));
    await new Promise((resolve) => setImmediate(resolve));
    return await commit(...batch);
  };
  const written = b.bucket.writeAll().then((isWritten) => events.push(`written: ${isWritten}`));
  await Promise.all([written, stopping]);
  await stopping;
  assert.deepEqual(events, ['written: true', 'stopped']);
});
