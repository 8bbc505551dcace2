import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BucketUnderTest } from '../../../../test/support/a-bucket.ts';
import { MemoryDisk } from '../../disk/memory-engine.ts';

const files = { folder: '/bucket', bucketUuid: 'b1', incarnation: 1, fileCount: 4 };

test('a write of states frees the memory that it encoded them in', async () => {
  const b = await new BucketUnderTest({ storage: { disk: new MemoryDisk().engine(), files } }).start();
  const before = process.memoryUsage().arrayBuffers;
  await b.bucket.writeStates(Array.from({ length: 64 }, (_, vb) => vb));
  const kept = process.memoryUsage().arrayBuffers - before;
  assert.ok(kept < 65_536, `${kept} bytes`);
  await b.bucket.stop();
});
