import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Log, silentLog } from '#ports/log.ts';
import { Status } from '#wire/status.ts';
import { aBucket, aDesired, startService } from '../../../test/support/data-service.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { Opcode } from '../../../test/support/opcodes.ts';

for (const change of [{ evictionPolicy: 'fullEviction' }, { threadsNumber: 8 }] as const) {
  test(`a change of ${Object.keys(change)[0]} restarts the bucket, which then has all its documents`, async () => {
    await using service = await startService();
    const client = await service.ready();
    const key = Buffer.from('\0k');
    const set = { opcode: Opcode.set, key, extras: Buffer.alloc(8), value: Buffer.from('kept') };
    assert.equal((await client.ask(set)).status, Status.success);
    const applied = service.service.apply(aDesired({ buckets: [aBucket('b', change)] }));
    const seen = new Set<string | undefined>();
    const statuses = new Set<number>();
    let isDone = false;
    void applied.then(() => (isDone = true));
    // Requests for reports have no pause between them: the files are in memory, and the restart would be over before the second one.
    for (let reports = 0; !isDone && reports < 100; reports++)
      seen.add((await service.service.report()).buckets[0]?.state);
    while (!isDone) statuses.add((await client.ask({ opcode: Opcode.get, key })).status);
    statuses.add((await client.ask({ opcode: Opcode.get, key })).status);
    const { buckets } = await applied;
    assert.equal(buckets[0]?.state, 'ready');
    assert.deepEqual(
      [...statuses].filter((status) => status !== 0 && status !== Status.temporaryFailure),
      [],
    );
    assert.ok(seen.has('warmup'));
    assert.equal((await client.ask({ opcode: Opcode.get, key })).value.toString(), 'kept');
    assert.equal((await client.ask(set)).status, Status.success);
  });
}

test('a bucket whose disk is full keeps its engine, and is restarted once there is space', async () => {
  const events: string[] = [];
  const noted = (event: string): void => void events.push(event);
  const log: Log = { ...silentLog, error: noted, info: noted, child: () => log };
  await using service = await startService(aDesired(), { log });
  const client = await service.ready();
  const set = {
    opcode: Opcode.set,
    key: Buffer.from('\0k'),
    extras: Buffer.alloc(8),
    value: Buffer.from('kept'),
  };
  // Otherwise a write of the start, and not that of the client, could be the first one to fail.
  await eventually(async () => assert.equal((await service.service.report()).buckets[0]?.dirtyItems, 0));
  service.disk.isFull = true;
  assert.equal((await client.ask(set)).status, Status.success);
  const failure = async () => (await service.service.report()).buckets[0]?.writeFailure ?? '';
  await eventually(async () => assert.match(await failure(), /no space/));
  const changed = aDesired({ buckets: [aBucket('b', { evictionPolicy: 'fullEviction' })] });
  for (let applied = 0; applied < 2; applied++) {
    await service.service.apply(changed);
    assert.match(await failure(), /no space .*; the bucket keeps its eviction policy/);
    assert.equal((await client.ask({ opcode: Opcode.get, key: set.key })).value.toString(), 'kept');
  }
  assert.equal(events.filter((event) => event === 'bucket.restart_refused').length, 1);
  service.disk.isFull = false;
  await eventually(async () => {
    assert.ok(events.includes('bucket.restarting'));
    assert.equal((await client.ask({ opcode: Opcode.get, key: set.key })).value.toString(), 'kept');
  });
  assert.equal(await failure(), '');
});

for (const isWritten of [true, false])
  test(`a bucket whose disk is full keeps its engine although no write has failed yet${isWritten ? ', with all changes on disk' : ''}`, async () => {
    await using service = await startService();
    const client = await service.ready();
    const set = {
      opcode: Opcode.set,
      key: Buffer.from('\0k'),
      extras: Buffer.alloc(8),
      value: Buffer.from('kept'),
    };
    assert.equal((await client.ask(set)).status, Status.success);
    if (isWritten)
      await eventually(async () => assert.equal((await service.service.report()).buckets[0]?.dirtyItems, 0));
    service.disk.isFull = true;
    await service.service.apply(aDesired({ buckets: [aBucket('b', { evictionPolicy: 'fullEviction' })] }));
    assert.match((await service.service.report()).buckets[0]?.writeFailure ?? '', /no space/);
    const get = async () => (await client.ask({ opcode: Opcode.get, key: set.key })).value.toString();
    assert.equal(await get(), 'kept');
    service.disk.isFull = false;
    await eventually(async () => {
      assert.equal((await service.service.report()).buckets[0]?.writeFailure, null);
      assert.equal(await get(), 'kept');
    });
  });
