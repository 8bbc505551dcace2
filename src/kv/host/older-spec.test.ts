// A node that starts from an older configuration than the one it had applied: its copy is written a second after a change.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VbucketState } from '#kv/data/vbucket-state.ts';
import { MemoryDisk } from '#kv/disk/memory-engine.ts';
import { Now } from '#kv/vbucket/now.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { Status } from '#wire/status.ts';
import { aBucket, aDesired, persistToMajority, startService } from '../../../test/support/data-service.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import type { Replication } from '../replication/replication.ts';
import { BucketHost } from './bucket-host.ts';

const key = Buffer.from('\0k');
const flushedTimes = (incarnation: number) => aDesired({ buckets: [aBucket('b', { incarnation })] });

test('a bucket of which the node does not know that it was flushed keeps its documents', async () => {
  const disk = new MemoryDisk();
  {
    await using before = await startService(flushedTimes(2), { disk: disk.engine() });
    const client = await before.ready();
    const set = { opcode: Opcode.set, key, extras: Buffer.alloc(8), value: Buffer.from('kept') };
    const framing = persistToMajority;
    assert.equal((await client.ask({ ...set, framing })).status, Status.success);
  }
  await using service = await startService(flushedTimes(1), { disk: disk.engine() });
  const [bucket] = (await service.service.report()).buckets;
  assert.equal(bucket?.state, 'failed');
  assert.match(bucket?.damaged[0]?.reason ?? '', /incarnation 2/);
  await service.service.apply(flushedTimes(2));
  const client = await service.ready();
  assert.equal((await client.ask({ opcode: Opcode.get, key })).value.toString(), 'kept');
  // A later flush removes them.
  await service.service.apply(flushedTimes(3));
  assert.equal((await client.ask({ opcode: Opcode.get, key })).status, Status.keyNotFound);
});

test('a bucket whose files an earlier process had serves no shard before this process has confirmed it, although the node knows an older map', async () => {
  const disk = new MemoryDisk();
  const added: unknown[] = [];
  const replication = {
    boot: 'boot',
    warm: () => ({ follow() {} }),
    remove() {},
    add: ({ earlier }: { earlier: string }) => {
      added.push(earlier);
      return { follow() {} };
    },
  };
  const shards = Array.from(
    { length: 64 },
    () => ({ state: 'active', epoch: 1, replicas: ['other'] }) as const,
  );
  const start = async (): Promise<BucketHost> => {
    const host = new BucketHost(aBucket('b', { filesExisted: false, shards }), {
      clock: new SimulatedClock(),
      random: realRandom,
      log: silentLog,
      now: new Now(),
      disk: disk.engine(),
      folder: 'folder',
      replication: () => replication as unknown as Replication,
    });
    await host.start();
    return host;
  };
  const isActive = ({ bucket }: BucketHost): boolean => bucket.columns.state.includes(VbucketState.active);
  assert.ok(isActive(await start()), 'a new bucket is served at once');
  disk.crash();
  assert.ok(!isActive(await start()));
  assert.deepEqual(added, ['none', 'process']);
});
