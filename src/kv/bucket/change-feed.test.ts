// Which followers of a vbucket are notified of its changes, and which of commits to disk.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { BucketUnderTest } from '../../../test/support/a-bucket.ts';
import { DurabilityLevel } from '../data/documents.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';

const files = { folder: '/bucket', bucketUuid: 'b1', incarnation: 1, fileCount: 4 };

test('a copy is notified of changes, and of commits to disk only while it lacks changes', async () => {
  const disk = new MemoryDisk();
  const b = await new BucketUnderTest({ storage: { disk: disk.engine(), files } }).start();
  const { changes } = b.bucket;
  const seen: string[] = [];
  const followers = {
    stream: { position: 0, changed: () => seen.push('stream') },
    copy: { position: 0, receivesUncommitted: true, changed: () => seen.push('copy') },
    slow: { position: 0, receivesUncommitted: true, changed: () => seen.push('slow') },
  };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const committed = async (): Promise<string[]> => {
    for (let i = 0; i < 5; i++) {
      b.tick(20);
      await turn();
    }
    return [...new Set(seen.splice(0))];
  };
  const durable = { durability: DurabilityLevel.persistToMajority } as const;
  changes.follow(0, followers.copy);
  assert.equal(b.store('k', { vb: 0, ...durable }), Status.success);
  followers.copy.position = 1;
  assert.deepEqual(await committed(), ['copy']);
  changes.persisted(0);
  changes.committed(0);
  assert.deepEqual(await committed(), [], 'notified although the copy has all changes');
  for (const other of ['stream', 'slow'] as const) {
    followers[other].position = 0;
    changes.follow(0, followers[other]);
    changes.persisted(0);
    assert.ok((await committed()).includes(other), other);
    changes.committed(0);
    assert.equal((await committed()).includes(other), other === 'stream', other);
    changes.unfollow(0, followers[other]);
  }
});
