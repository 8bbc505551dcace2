import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { aBucket, aDesired, startService } from '../../../test/support/data-service.ts';

for (const change of [{ evictionPolicy: 'fullEviction' }, { threadsNumber: 8 }] as const) {
  test(`a change of ${Object.keys(change)[0]} restarts the bucket, which then has all its documents`, async () => {
    await using service = await startService();
    const client = await service.ready();
    const key = Buffer.from('\0k');
    const set = { opcode: 1, key, extras: Buffer.alloc(8), value: Buffer.from('kept') };
    assert.equal((await client.ask(set)).status, Status.success);
    const applied = service.service.apply(aDesired({ buckets: [aBucket('b', change)] }));
    const seen = new Set<string | undefined>();
    const statuses = new Set<number>();
    let isDone = false;
    void applied.then(() => (isDone = true));
    // With these files in memory a restart takes no longer than some reports.
    for (let reports = 0; !isDone && reports < 100; reports++)
      seen.add((await service.service.report()).buckets[0]?.state);
    while (!isDone) statuses.add((await client.ask({ opcode: 0, key })).status);
    statuses.add((await client.ask({ opcode: 0, key })).status);
    const { buckets } = await applied;
    assert.equal(buckets[0]?.state, 'ready');
    assert.ok(statuses.has(Status.success) || statuses.has(Status.temporaryFailure));
    assert.deepEqual(
      [...statuses].filter((status) => status !== 0 && status !== Status.temporaryFailure),
      [],
    );
    assert.ok(seen.has('warmup'));
    assert.equal((await client.ask({ opcode: 0, key })).value.toString(), 'kept');
    assert.equal((await client.ask(set)).status, Status.success);
  });
}
