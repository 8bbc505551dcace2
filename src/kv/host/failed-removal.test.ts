import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryDisk } from '#kv/disk/memory-engine.ts';
import { Status } from '#wire/status.ts';
import { aBucket, aDesired, aUser, startService } from '../../../test/support/data-service.ts';

test('while the files of a deleted bucket cannot be removed, changed accounts and new buckets are applied', async () => {
  const disk = new MemoryDisk().engine();
  const destroy = disk.destroy.bind(disk);
  disk.destroy = () => Promise.reject(new Error('the file system is read-only'));
  await using service = await startService(aDesired(), { disk });
  const { uuid } = aBucket('b');
  const desired = aDesired({
    buckets: [aBucket('other')],
    deletedBuckets: [uuid],
    users: [aUser('admin', 'another password')],
  });
  await assert.rejects(service.service.apply(desired), /read-only/);
  const login = async (password: string) => {
    const client = await service.connect();
    return (await client.plain('admin', password)).status;
  };
  assert.deepEqual(
    [await login('password'), await login('another password')],
    [Status.authError, Status.success],
  );
  const names = async () => (await service.service.report()).buckets.map(({ name }) => name);
  assert.deepEqual(await names(), ['other']);
  disk.destroy = destroy;
  await service.service.apply(desired);
});
