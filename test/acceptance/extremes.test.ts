// The short form of `test/stress/extremes.ts`.
import { test } from 'node:test';
import { moreThanMemory, type Policy, tombstones } from '../stress/extreme-data.ts';
import { collections, olderCopy, outOfMemory, readOnly, resident } from '../stress/extreme-nodes.ts';
import { needs } from '../support/needs.ts';
import { aSeed } from '../support/random.ts';

const quotaBytes = 2 ** 20;

for (const policy of ['fullEviction', 'valueOnly'] satisfies Policy[]) {
  test(`a bucket with ${policy} reads back 20 times more data than its memory has, also after a restart`, async (t) => {
    t.diagnostic(await moreThanMemory({ policy, quotaBytes, count: 675, valueBytes: 31_500 }, aSeed(t)));
  });
}

test('tombstones of a bucket that has all keys in memory stay within its quota', async (t) => {
  const extent = { policy: 'valueOnly', quotaBytes, count: 7_500, valueBytes: 40 } as const;
  t.diagnostic(await tombstones(extent, aSeed(t)));
});

test('hundreds of collections accept documents while half of them are dropped', async (t) => {
  const [made, documentsInEach] = [300, 10];
  t.diagnostic(await collections(made, documentsInEach, aSeed(t)));
});

test('a bucket with more data than its quota makes the process grow by three times the quota at most', async (t) => {
  const [quotaMegabytes, timesQuota] = [100, 1.2];
  t.diagnostic(await resident(quotaMegabytes, timesQuota));
});

test('writes acknowledged as persisted survive an out-of-memory kill of the node', async (t) => {
  const writtenMegabytes = 40;
  t.diagnostic(await outOfMemory(writtenMegabytes));
});

test('a node whose file system becomes read-only acknowledges no write, and serves what it has', {
  skip: needs('mount') || needs('mkfs.ext4'),
}, async (t) => {
  const documents = 100;
  t.diagnostic(await readOnly(documents));
});

test('an older copy of the whole data folder is served as it was, and streams that are ahead roll back', async (t) => {
  const documents = 256;
  t.diagnostic(await olderCopy(documents));
});
