// A node assigns seqnos in active vbuckets only. Each test makes a node change documents or histories by itself: the one active vbucket
// shows the change, and all others stay as they were.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Datatype, Status } from '#wire/status.ts';
import { BucketUnderTest, keyOf, withXattrs } from '../../../test/support/a-bucket.ts';
import { manifestOf } from '../../../test/support/manifest-of.ts';
import type { ShardSpec } from '../admin.ts';
import { type DocumentResult, DurabilityLevel } from '../data/documents.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';
import type { BucketOptions } from './bucket-parts.ts';

const files = { folder: '/a', bucketUuid: 'a', incarnation: 1, fileCount: 4 };
const rules = {
  quotaBytes: 4 * 1024 * 1024,
  maxTtl: 0,
  durabilityMinLevel: DurabilityLevel.none,
  replicaNumber: 0,
};
const vbs = Array.from({ length: 64 }, (_, vb) => vb);
const active = 5;
/** Only one is active. */
const shards: ShardSpec[] = vbs.map((vb) => ({
  state: vb === active ? 'active' : 'replica',
  epoch: 2,
  replicas: [],
}));
async function runBackground(b: BucketUnderTest, times: number, ms = 25): Promise<void> {
  for (let i = 0; i < times; i++) {
    b.tick(ms);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const historyOf = ({ bucket: { documents } }: BucketUnderTest, vb: number) =>
  [documents.highSeqno(vb), documents.failoverLog(vb)] as const;

const allOf = (b: BucketUnderTest) => vbs.map((vb) => historyOf(b, vb));

/** Only the active vbucket has another history than `before`. */
function checkOnlyActive(b: BucketUnderTest, before: ReturnType<typeof allOf>, what: string): void {
  assert.deepEqual(
    allOf(b).filter((_, vb) => vb !== active),
    before.filter((_, vb) => vb !== active),
    what,
  );
  assert.notDeepEqual(
    historyOf(b, active),
    before[active],
    `${what}: it is done where the vbucket is active`,
  );
}

/** Documents of two collections, expiring ones among them, with a system attribute in some. */
async function filled(options: Partial<Omit<BucketOptions, 'clock'>>): Promise<BucketUnderTest> {
  const b = await new BucketUnderTest({ rules, manifest: manifestOf([0, 8], 1), ...options }).start();
  const attributed = { datatype: Datatype.xattr, value: withXattrs({ _sys: '1' }, 'body'.repeat(200)) };
  for (const vb of vbs) {
    for (const key of ['stays', '8:stays', 'other', '8:other'])
      await storeWhenResident(b, key, { vb, value: 'v'.repeat(600) });
    await storeWhenResident(b, 'expires', { vb, expiry: 100 });
    await storeWhenResident(b, 'read', { vb, expiry: 100 });
    await storeWhenResident(b, 'attributed', { vb, expiry: 100, ...attributed });
  }
  await runBackground(b, 20);
  return b;
}

async function storeWhenResident(
  b: BucketUnderTest,
  key: string,
  change: Parameters<BucketUnderTest['store']>[1],
) {
  while ((await b.whenResident(() => b.store(key, change))) !== Status.success) await runBackground(b, 1);
}

function findReplica(b: BucketUnderTest, key: string, vb: number): DocumentResult {
  const bytes = keyOf(key);
  return b.bucket.documents.findReplica(vb, bytes, 0, bytes.length, b.view);
}

const kinds: Record<string, () => Partial<Omit<BucketOptions, 'clock'>>> = {
  valueOnly: () => ({ storage: { disk: new MemoryDisk().engine(), files }, evictionPolicy: 'valueOnly' }),
  fullEviction: () => ({
    storage: { disk: new MemoryDisk().engine(), files },
    evictionPolicy: 'fullEviction',
  }),
  nruEviction: () => ({ evictionPolicy: 'nruEviction' }),
  noEviction: () => ({ evictionPolicy: 'noEviction' }),
};

for (const [name, options] of Object.entries(kinds)) {
  test(`${name}: documents expire by reads and by the pager in active vbuckets alone`, async () => {
    const b = await filled(options());
    await b.bucket.followShards(shards);
    b.tick(101_000);
    const before = allOf(b);
    for (const vb of vbs) {
      if (vb === active) assert.equal(b.find('read', vb), Status.keyNotFound);
      else assert.equal(await b.whenResident(() => findReplica(b, 'read', vb)), Status.keyNotFound);
    }
    checkOnlyActive(b, before, 'expiry by a read');
    const { expired } = b.bucket.stats();
    const after = allOf(b);
    await runBackground(b, 12, 60_000);
    await runBackground(b, 300);
    checkOnlyActive(b, after, 'expiry by the pager');
    // `expires` and `attributed` of the one active vbucket.
    assert.equal(b.bucket.stats().expired, expired + 2);
    await b.bucket.stop();
  });

  test(`${name}: collections are dropped and created in active vbuckets alone`, async () => {
    const b = await filled(options());
    // With fullEviction these documents are on disk only.
    for (const vb of vbs) b.bucket.keys.evict(vb, keyOf('8:other'));
    await b.bucket.followShards(shards);
    const before = allOf(b);
    b.bucket.applyManifest(manifestOf([0], 2));
    await runBackground(b, 300);
    checkOnlyActive(b, before, 'a dropped collection');
    const after = allOf(b);
    b.bucket.applyManifest(manifestOf([0, 9], 3));
    await runBackground(b, 20);
    checkOnlyActive(b, after, 'a new collection');
    // Every vbucket becomes active, and does what copies leave to the active.
    await b.bucket.followShards(shards.map((shard) => ({ ...shard, state: 'active', epoch: 3 })));
    const [high] = historyOf(b, active);
    const raised = vbs.filter(
      (vb) => vb !== active && b.bucket.documents.highSeqno(vb) > (after[vb]?.[0] ?? 0),
    );
    assert.equal(raised.length, 63, 'events that are missing are recorded');
    await runBackground(b, 300);
    assert.equal(b.bucket.stats().collectionItems[8], undefined);
    assert.equal(b.bucket.documents.highSeqno(active), high);
    await b.bucket.stop();
  });
}

test('documents are deleted for lack of memory in active vbuckets alone', async () => {
  const b = await filled({ evictionPolicy: 'nruEviction' });
  await b.bucket.followShards(shards);
  const before = allOf(b);
  for (let i = 0; i < 10_000; i++) {
    await storeWhenResident(b, `k${i}`, { vb: active, value: 'v'.repeat(500) });
    if (i % 100 === 0) await runBackground(b, 1);
  }
  assert.ok(b.bucket.stats().evictions > 1000);
  checkOnlyActive(b, before, 'eviction');
  for (const vb of vbs.filter((other) => other !== active))
    assert.equal(findReplica(b, 'stays', vb), Status.success);
});

test('new histories begin after a crash in active vbuckets alone', async () => {
  const disk = new MemoryDisk();
  const storage = { disk: disk.engine(), files };
  const b = await filled({ storage });
  await b.bucket.followShards(shards);
  b.bucket.compaction.begin({ purgeBeforeSeconds: 'all', origin: 'test' });
  await runBackground(b, 50);
  const before = allOf(b);
  disk.crash();
  const next = { storage: { disk: disk.engine(), files }, shards, clock: b.clock, rules };
  const after = await new BucketUnderTest({ ...next, manifest: manifestOf([0, 8], 1) }).start();
  checkOnlyActive(after, before, 'a start after a crash');
  const beforeFlush = allOf(after);
  await after.bucket.flush(2);
  assert.ok(beforeFlush.every(([high]) => high > 0));
  assert.deepEqual(
    allOf(after).filter(([, log], vb) => vb !== active && log.length > 0),
    [],
    'a flush began a history of a copy',
  );
  await after.bucket.stop();
});

test('a copy in memory begins no history of its own', async () => {
  const b = await new BucketUnderTest({ shards }).start();
  assert.deepEqual(
    vbs.filter((vb) => b.bucket.documents.failoverLog(vb).length > 0),
    [active],
  );
});
