import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { DurabilityLevel } from '#kv/data/documents.ts';
import { Status } from '#wire/status.ts';
import { BucketUnderTest } from '../../../../test/support/a-bucket.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { eventually } from '../../../../test/support/node-process.ts';
import type { ShardSpec } from '../../admin.ts';
import { VbucketState } from '../../data/vbucket-state.ts';
import { MemoryDisk } from '../../disk/memory-engine.ts';
import { VbucketColumns } from '../../vbucket/columns.ts';
import { VbucketProgress } from './progress.ts';

const { majority, majorityAndPersistActive, persistToMajority } = DurabilityLevel;

function aProgress(replicaNumber: number) {
  const columns = new VbucketColumns(2);
  const progress = new VbucketProgress(columns, new ManualClock(), { replicaNumber }, true);
  columns.highSeqno.fill(10);
  return { columns, progress };
}

const files = { folder: '/bucket', bucketUuid: 'b1', incarnation: 1, fileCount: 1 };

const withB = { others: ['b'], size: 2, isFrozen: false };

describe('VbucketProgress', () => {
  it('commits at once where no other node is in the in-sync set', () => {
    const { progress } = aProgress(0);
    assert.equal(progress.committedSeqno(0), 10);
    assert.ok(progress.reaches(0, 10, majority));
    assert.ok(progress.hasMajority(0));
  });

  it('commits what every member has received', () => {
    const { progress } = aProgress(2);
    progress.beginMembers(0, { others: ['b', 'c'], size: 3, isFrozen: false });
    progress.copied(0, 'b', 9, 0);
    assert.ok(!progress.reaches(0, 1, majority));
    progress.copied(0, 'c', 7, 0);
    progress.copied(0, 'd', 1, 1);
    assert.ok(progress.reaches(0, 7, majority) && !progress.reaches(0, 8, majority));
    assert.equal(progress.committedSeqno(1), 10, 'another vbucket has no copies');
  });

  it('commits nothing while the outcome of a change of the set is unknown, and nothing with too few members', () => {
    const { progress } = aProgress(1);
    progress.beginMembers(0, withB);
    progress.copied(0, 'b', 3, 0);
    progress.setMembers(0, { ...withB, isFrozen: true });
    progress.copied(0, 'b', 6, 0);
    assert.ok(progress.reaches(0, 3, majority) && !progress.reaches(0, 4, majority));
    progress.setMembers(0, null);
    assert.ok(!progress.hasMajority(0), 'this node alone is no majority of two');
  });

  it('notifies a follower of commits until the follower ends that, as the replication of a flushed bucket does', () => {
    const { progress } = aProgress(1);
    const noticed: string[] = [];
    const endFirst = progress.notifyPersisted((vb) => noticed.push(`first ${vb}`));
    progress.notifyPersisted((vb) => noticed.push(`second ${vb}`));
    progress.advance(1, 3);
    endFirst();
    progress.advance(1, 4);
    assert.deepEqual(noticed, ['first 1', 'second 1', 'second 1']);
  });

  it('waits for a joining member before the configuration lists it, and acknowledges only afterwards', () => {
    const { progress, columns } = aProgress(1);
    progress.setMembers(0, { others: ['b'], size: 1, isFrozen: false });
    columns.highSeqno[0] = 12;
    assert.equal(progress.committedSeqno(0), 10, 'the committed seqno does not fall');
    progress.copied(0, 'b', 12, 0);
    assert.ok(!progress.reaches(0, 12, majority));
    progress.setMembers(0, withB);
    assert.ok(progress.reaches(0, 12, majority));
  });

  it('counts the members that have a write on disk', () => {
    const { progress, columns } = aProgress(1);
    progress.beginMembers(0, withB);
    progress.copied(0, 'b', 10, 4);
    assert.ok(!progress.reaches(0, 5, majorityAndPersistActive));
    columns.persistedSeqno[0] = 6;
    assert.ok(progress.reaches(0, 6, majorityAndPersistActive));
    assert.ok(progress.reaches(0, 4, persistToMajority) && !progress.reaches(0, 5, persistToMajority));
  });

  it('counts the active among the members that have a write on disk, since it stays active when all restart', () => {
    const { progress, columns } = aProgress(2);
    progress.beginMembers(0, { others: ['b', 'c'], size: 3, isFrozen: false });
    for (const copy of ['b', 'c']) progress.copied(0, copy, 10, 10);
    columns.persistedSeqno[0] = 4;
    assert.ok(progress.reaches(0, 4, persistToMajority) && !progress.reaches(0, 5, persistToMajority));
  });

  it('counts no write as persisted while another node would continue in place of the active', () => {
    const { progress, columns } = aProgress(1);
    progress.beginMembers(0, { ...withB, isUnwritten: true });
    progress.copied(0, 'b', 10, 10);
    columns.persistedSeqno[0] = 10;
    assert.ok(progress.reaches(0, 10, majority));
    for (const level of [majorityAndPersistActive, persistToMajority]) {
      assert.ok(!progress.reaches(0, 1, level));
      progress.setMembers(0, withB);
      assert.ok(progress.reaches(0, 10, level));
      progress.setMembers(0, { ...withB, isUnwritten: true });
    }
  });

  it('tells clients of nothing persisted while another node would continue in place of the active', () => {
    const { progress, columns } = aProgress(1);
    columns.state[0] = VbucketState.active;
    progress.beginMembers(0, { ...withB, isUnwritten: true });
    const answers: string[] = [];
    for (const seqno of [8, 9])
      progress.wait(0, seqno, 1000, (isPersisted) => answers.push(`${seqno} ${isPersisted}`));
    progress.advance(0, 8);
    assert.deepEqual([progress.persistedSeqno(0), progress.safePersistedSeqno(0), answers], [8, 0, []]);
    progress.setMembers(0, withB);
    assert.deepEqual([progress.safePersistedSeqno(0), answers], [8, ['8 true']]);
    progress.setMembers(0, { ...withB, isUnwritten: true });
    columns.state[0] = VbucketState.replica;
    assert.equal(progress.safePersistedSeqno(0), 8, 'a copy says what it has on its own disk');
    progress.failWaits();
  });

  it('ends the waits of one vbucket, and only those', () => {
    const { progress } = aProgress(1);
    const answers: string[] = [];
    for (const vb of [0, 1])
      progress.wait(vb, 8, 1000, (isPersisted) => answers.push(`${vb} ${isPersisted}`));
    progress.failWaitsOf(0);
    progress.advance(0, 12);
    assert.deepEqual(answers, ['0 false']);
    progress.advance(1, 12);
    assert.deepEqual(answers, ['0 false', '1 true']);
  });

  it('refuses durable writes with three copies', () => {
    const { progress } = aProgress(3);
    progress.setMembers(0, { others: ['b', 'c', 'd'], size: 4, isFrozen: false });
    assert.ok(!progress.hasMajority(0));
  });

  it('discards what an earlier boot of a copy has received', () => {
    const { progress } = aProgress(1);
    progress.copied(0, 'b', 8, 8);
    progress.discardCopy(0, 'b');
    progress.beginMembers(0, withB);
    assert.ok(!progress.reaches(0, 1, majority));
  });

  it('discards copies that no set has any more', () => {
    const { progress } = aProgress(1);
    for (const copy of ['a', 'b', 'c']) progress.copied(0, copy, 8, 7);
    progress.beginMembers(1, withB);
    progress.discardCopies((copy) => copy !== 'c');
    const received = (): number[] => ['a', 'b', 'c'].map((copy) => progress.receivedSeqno(0, copy));
    assert.deepEqual(received(), [0, 8, 8]);
    progress.setMembers(1, null);
    progress.discardCopies((copy) => copy === 'b');
    assert.deepEqual(received(), [0, 0, 8]);
  });
});

describe('a majority write of a bucket with copies', () => {
  const rules = { quotaBytes: 2 ** 30, maxTtl: 0, durabilityMinLevel: 0, replicaNumber: 1 } as const;
  const durability = majority;

  it('is impossible before a copy is in the in-sync set', async () => {
    const bucket = await new BucketUnderTest({ rules }).start();
    assert.equal(bucket.store('k', { durability }), Status.durabilityImpossible);
    assert.equal(bucket.bucket.documents.highSeqno(0), 0, 'nothing is written');
  });

  it('is visible once every member has received it', async () => {
    const bucket = await new BucketUnderTest({ rules }).start();
    const { progress } = bucket.bucket;
    progress.setMembers(0, withB);
    assert.equal(bucket.store('k', { value: 'old' }), Status.success);
    assert.equal(bucket.result.pending, 0, 'a write without a level waits for no other node');
    assert.equal(bucket.store('k', { value: 'new', durability }), Status.success);
    const token = bucket.result.pending;
    assert.equal(bucket.store('k', { durability }), Status.syncWriteInProgress);
    assert.equal(bucket.find('k'), Status.success);
    assert.equal(bucket.value, 'old');
    progress.copied(0, 'b', 1, 0);
    assert.equal(bucket.resolved.get(token), undefined);
    progress.copied(0, 'b', 2, 0);
    assert.equal(bucket.resolved.get(token), Status.success);
    assert.equal(bucket.find('k'), Status.success);
    assert.equal(bucket.value, 'new');
  });

  it('is answered as ambiguous after its timeout, and becomes visible when it is committed', async () => {
    const bucket = await new BucketUnderTest({ rules }).start();
    const { progress } = bucket.bucket;
    progress.setMembers(0, withB);
    bucket.store('k', { durability, durabilityTimeoutMs: 100 });
    bucket.tick(200);
    assert.deepEqual([...bucket.resolved.values()], [Status.syncWriteAmbiguous]);
    assert.equal(bucket.find('k'), Status.keyNotFound);
    progress.copied(0, 'b', 1, 0);
    assert.equal(bucket.find('k'), Status.success);
  });
});

test('a client that polls for persistence is told of none while another node would continue the vbucket', async () => {
  const b = await new BucketUnderTest({ storage: { disk: new MemoryDisk().engine(), files } }).start();
  const { documents, progress } = b.bucket;
  const set = { others: [], size: 1, isFrozen: false };
  progress.setMembers(0, { ...set, isUnwritten: true });
  b.store('k');
  const answers: boolean[] = [];
  documents.whenPersisted(0, 1, 1000, (answer) => answers.push(answer));
  await eventually(() => {
    b.tick(20);
    assert.equal(documents.persistedSeqno(0), 1);
  });
  assert.deepEqual([documents.persistedSeqno(0), documents.watchPersisted(0), answers], [1, 0, []]);
  progress.setMembers(0, set);
  assert.deepEqual([documents.watchPersisted(0), answers], [1, [true]]);
});

test('a client that waits for persistence is told of none once another node is the active', async () => {
  const shards = (state: ShardSpec['state'], epoch: number): ShardSpec[] => [{ state, epoch, replicas: [] }];
  const storage = { disk: new MemoryDisk().engine(), files };
  const b = await new BucketUnderTest({ storage, shards: shards('active', 1) }).start();
  const { documents, progress } = b.bucket;
  progress.setMembers(0, { others: [], size: 1, isFrozen: false, isUnwritten: true });
  b.store('k');
  await b.bucket.writeAll();
  const answers: boolean[] = [];
  documents.whenPersisted(0, 1, 1000, (answer) => answers.push(answer));
  assert.deepEqual([documents.persistedSeqno(0), answers], [1, []]);
  await b.bucket.followShards(shards('replica', 2));
  // As after a rollback, with the changes of the new active on disk.
  progress.advance(0, 4);
  assert.deepEqual(answers, [false]);
});
