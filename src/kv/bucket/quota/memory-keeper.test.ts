import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { BucketUnderTest } from '../../../../test/support/a-bucket.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { DurabilityLevel } from '../../data/documents.ts';
import { MemoryDisk } from '../../disk/memory-engine.ts';

class CountingClock extends ManualClock {
  turns = 0;

  override soon(callback: () => void): void {
    this.turns++;
    super.soon(callback);
  }
}

const rules = { quotaBytes: 2 ** 30, maxTtl: 0, durabilityMinLevel: DurabilityLevel.none, replicaNumber: 0 };
const files = { folder: '/k', bucketUuid: 'k', incarnation: 1, fileCount: 4 };

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

for (const kind of ['that cannot be written', 'of an ephemeral bucket'] as const) {
  test(`a bucket over its quota stops moving documents ${kind} when that frees no memory`, async () => {
    const disk = new MemoryDisk();
    const clock = new CountingClock();
    const storage = { disk: disk.engine(), files };
    const isOnDisk = kind === 'that cannot be written';
    const b = await new BucketUnderTest({ clock, rules, ...(isOnDisk && { storage }) }).start();
    if (isOnDisk) disk.failNextWrite('broken');
    // Holes everywhere, but no page that is worth emptying.
    for (let i = 0; i < 4000; i++)
      assert.equal(b.store(`k${i}`, { value: 'v'.repeat(1000) }), Status.success);
    for (let i = 0; i < 4000; i += 8) assert.equal(b.remove(`k${i}`), Status.success);
    b.tick(20);
    await turns(10);
    b.bucket.setRules({ quotaBytes: 1 });
    await turns(100);
    clock.turns = 0;
    await turns(100);
    assert.equal(clock.turns, 0, 'nothing is walked repeatedly');
    b.tick(1000);
    await turns(100);
    assert.ok(clock.turns < 100, `${clock.turns} turns in a second`);
    b.bucket.setRules({ quotaBytes: 2 ** 30 });
    await b.bucket.stop();
  });
}

test('items that could not be moved are moved as soon as they are written', async () => {
  const disk = new MemoryDisk();
  const storage = { disk: disk.engine(), files };
  const quotaBytes = 2 ** 21;
  const b = await new BucketUnderTest({ rules: { ...rules, quotaBytes }, storage }).start();
  let waitedMs = 0;
  for (let i = 0; i < 4000; i++) {
    while (b.store(`k${i}`, { vb: i % 64, value: 'v'.repeat(1000) }) !== Status.success) {
      b.tick(5);
      waitedMs += 5;
      await turns(3);
      assert.ok(waitedMs < 5000, `${i} documents`);
    }
    if (i % 16 !== 0) continue;
    b.tick(1);
    await turns(1);
  }
  assert.ok(b.bucket.stats().evictions > 1000);
  await b.bucket.stop();
});
