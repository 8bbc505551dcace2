// An active that cannot read what its copies need: its attempts become rare, and few are logged.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryDisk } from '#kv/disk/memory-engine.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { aSeed } from '../../../test/support/random.ts';
import { RecordingLog } from '../../../test/support/recording-log.ts';
import { ReplicatedCluster, servingMs } from '../../../test/support/replicated-cluster.ts';
import { FeedFailures } from './feed-failures.ts';

test('attempts to feed a copy become rarer with each failure, until the copy has everything', () => {
  const failures = new FeedFailures({
    ref: { bucket: 'b', shard: 0 },
    clock: new ManualClock(),
    log: new RecordingLog(),
  });
  const pauses: number[] = [];
  for (let i = 0; i < 9; i++) {
    pauses.push(failures.pauseMs('a', 50));
    failures.failed('a', 'EIO');
  }
  assert.deepEqual(pauses, [50, 50, 100, 200, 400, 800, 1_600, 3_200, 5_000]);
  assert.equal(failures.pauseMs('b', 50), 50, 'another copy');
  failures.ended('a');
  assert.equal(failures.pauseMs('a', 50), 50);
});

test('the active logs the first failure of a shard, one in ten seconds after it, and each other reason', () => {
  const clock = new ManualClock();
  const log = new RecordingLog();
  const failures = new FeedFailures({ ref: { bucket: 'b', shard: 3 }, clock, log });
  const logged = (ms: number, node: string, reason: string): unknown => {
    clock.advance(ms);
    const before = log.errors.length;
    failures.failed(node, reason);
    return log.errors.slice(before).map(([, fields]) => fields);
  };
  const fields = { bucket: 'b', shard: 3, node: 'a' };
  assert.deepEqual(logged(0, 'a', 'EIO'), [{ ...fields, reason: 'EIO', attempts: 1 }]);
  assert.deepEqual(logged(5_000, 'c', 'EIO'), []);
  assert.deepEqual(logged(4_999, 'a', 'EIO'), []);
  assert.deepEqual(logged(1, 'a', 'EIO'), [{ ...fields, reason: 'EIO', attempts: 3 }]);
  assert.deepEqual(logged(0, 'a', 'damaged'), [{ ...fields, reason: 'damaged', attempts: 4 }]);
});

test('a copy is fed again once its active can read the file', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b']);
  const { clock, log, map } = cluster;
  const disk = new MemoryDisk();
  const a = await cluster.start('a', 'a 1', disk);
  const b = await cluster.start('b', 'b 1', new MemoryDisk());
  await clock.run(servingMs);
  a.store('k', 0);
  await clock.run(1_000);
  const [file] = disk.buckets.get('b')?.files ?? [];
  assert.ok(file !== undefined);
  file.damage = 'EIO';
  // Memory lacks versions, so that the copy's pages must be read from disk.
  a.bucket.columns.noteUncounted(0, 1);
  b.crash();
  const next = await cluster.start('b', 'b 2', new MemoryDisk());
  await clock.run(60_000);
  const ofShard = log.errors.filter(([, fields]) => fields?.['shard'] === 0).map(([event]) => event);
  assert.ok(ofShard.length >= 5 && ofShard.length <= 7, `logged ${ofShard.length} times in a minute`);
  file.damage = null;
  await clock.run(6_000);
  assert.deepEqual((await map.shards())[0]?.inSync?.map(([, boot]) => boot).sort(), ['a 1', 'b 2']);
  for (const node of [a, next]) node.crash();
});
