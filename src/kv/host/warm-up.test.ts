import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { Status } from '#wire/status.ts';
import { aBucket, aDesired, startService } from '../../../test/support/data-service.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import type { DiskEngine } from '../data/disk-engine.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';

/** A disk whose loads wait for the test. */
function slowToLoad() {
  const gate = deferred<void>();
  const engine = new MemoryDisk().engine();
  const disk: DiskEngine = Object.create(engine);
  disk.load = (...args) => gate.promise.then(() => engine.load(...args));
  return { disk, release: () => gate.resolve() };
}

const small = aBucket('small', { uuid: '5'.repeat(32), type: 'ephemeral', evictionPolicy: 'noEviction' });

test('a bucket that warms up delays neither other buckets nor changes, and replies with a temporary failure', async () => {
  const { disk, release } = slowToLoad();
  await using service = await startService(aDesired(), { disk });
  const states = async () => (await service.service.report()).buckets.map(({ state }) => state);
  const client = await service.ready();
  const key = Buffer.from('\0k');
  assert.equal((await client.ask({ opcode: Opcode.get, key })).status, Status.temporaryFailure);
  const { buckets } = await service.service.apply(aDesired({ buckets: [aBucket('b'), small] }));
  assert.deepEqual(
    buckets.map(({ name, state }) => [name, state]),
    [
      ['b', 'warmup'],
      ['small', 'ready'],
    ],
  );
  await service.service.apply(aDesired({ buckets: [aBucket('b', { quotaBytes: 2 ** 28 })] }));
  assert.deepEqual(await states(), ['warmup']);
  release();
  while ((await states())[0] === 'warmup') await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(await states(), ['ready']);
  assert.equal((await client.ask({ opcode: Opcode.get, key })).status, Status.keyNotFound);
});
